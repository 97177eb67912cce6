#include "fit/cut_rows.h"

#include <algorithm>
#include <cmath>

namespace outpace::fit {

using runtime_model::Fate;
using runtime_model::Observation;

std::vector<Observation> cut_off(std::span<const double> row, std::size_t count) {
  std::vector<double> in_order(row.begin(), row.end());
  const auto last = in_order.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(in_order.begin(), last, in_order.end());
  std::vector<Observation> seen;
  seen.reserve(row.size());
  for (const double seconds : row) {
    seen.push_back(seconds <= *last ? Observation{.seconds = seconds, .fate = Fate::kArrived}
                                    : Observation{.seconds = *last, .fate = Fate::kLonger});
  }
  return seen;
}

std::size_t count_by(std::span<const double> row, double after) {
  std::vector<double> in_order(row.begin(), row.end());
  const auto quick = in_order.begin() + static_cast<std::ptrdiff_t>(row.size() / 4);
  std::nth_element(in_order.begin(), quick, in_order.end());
  const double deadline = *quick * std::exp(after);
  return static_cast<std::size_t>(
      std::count_if(row.begin(), row.end(), [&](double seconds) { return seconds <= deadline; }));
}

std::size_t best_count(std::span<const double> row) {
  std::vector<double> in_order(row.begin(), row.end());
  std::sort(in_order.begin(), in_order.end());
  std::size_t best = 1;
  for (std::size_t c = 2; c <= in_order.size(); ++c) {
    const auto rate = [&](std::size_t count) {
      return static_cast<double>(count) / in_order[count - 1];
    };
    best = rate(c) >= rate(best) ? c : best;
  }
  return best;
}

}  // namespace outpace::fit
