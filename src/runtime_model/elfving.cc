#include "runtime_model/elfving.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace outpace::runtime_model {

void Elfving::observe(std::span<const Observation> iteration) {
  if (last_.empty()) {
    grid_ = grid_around(iteration);
    last_.assign(iteration.size(), 0.0);
  }
  CHECK(iteration.size() == last_.size());
  for (std::size_t w = 0; w < iteration.size(); ++w) {
    if (iteration[w].fate != Fate::kBusy) {
      last_[w] = iteration[w].seconds;
    }
  }
}

void Elfving::correct(std::uint32_t worker, double seconds) {
  last_[worker] = seconds;
}

bool Elfving::forecast(Forecast& out) {
  double sum = 0.0;
  double squares = 0.0;
  double count = 0.0;
  for (const double seconds : last_) {
    if (seconds > 0.0) {
      sum += seconds;
      squares += seconds * seconds;
      count += 1.0;
    }
  }
  if (count == 0.0) {
    return false;
  }
  const double mean = sum / count;
  const double variance = count > 1.0 ? (squares - count * mean * mean) / (count - 1.0) : 0.0;
  // Smallest sigma, as a share of the mean: a table needs some width.
  constexpr double kLeast = 1e-3;
  const double sigma = std::max(std::sqrt(std::max(variance, 0.0)), kLeast * mean);
  out.reset(grid_, static_cast<std::uint32_t>(last_.size()));
  const std::span<float> first = out.row(0);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double z = (grid_.edge(static_cast<double>(i)) - mean) / sigma;
    first[i] = static_cast<float>(0.5 * std::erfc(-z / std::numbers::sqrt2));
  }
  first.front() = 0.0F;
  first.back() = 1.0F;
  for (std::uint32_t w = 1; w < last_.size(); ++w) {
    std::copy(first.begin(), first.end(), out.row(w).begin());
  }
  return true;
}

}  // namespace outpace::runtime_model
