#include "sim/runtime_replay.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "worker/pace.h"

namespace outpace::sim {
namespace {

// The columns of the first row; 0 if there is none.
std::size_t count_columns(std::string_view text) {
  for (const std::string_view whole_line : split(text, '\n')) {
    const std::string_view line = trim(whole_line);
    if (!line.empty() && line.front() != '#') {
      return 1 + static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
    }
  }
  return 0;
}

}  // namespace

Replay Replay::parse(std::string_view text, const std::string& name, Options options) {
  const std::size_t columns = count_columns(text);
  if (columns == 0) {
    throw usage_error(name +
                      ": no runtimes; rows of seconds were expected, a column for each "
                      "worker, as in a run's runtimes.csv");
  }
  const auto table = worker::DelayTrace::parse(text, name, columns);
  std::vector<double> seconds;
  seconds.reserve(columns * table.rows());
  for (std::size_t i = 0; i < columns; ++i) {
    const std::vector<double> column = table.column(WorkerId{static_cast<std::uint32_t>(i)});
    const auto zero = std::find(column.begin(), column.end(), 0.0);
    if (zero != column.end()) {
      throw usage_error(name + ": column " + std::to_string(i + 1) + " is 0 in row " +
                        std::to_string(zero - column.begin() + 1) +
                        "; a runtime is above 0 seconds");
    }
    seconds.insert(seconds.end(), column.begin(), column.end());
  }
  return {options, std::move(seconds), columns};
}

Replay::Replay(Options options, std::vector<double> seconds, std::size_t columns)
    : options_(options),
      seconds_(std::move(seconds)),
      sorted_(seconds_),
      columns_(columns),
      rows_(seconds_.size() / columns) {
  CHECK(options_.period >= Duration{1} && rows_ >= 1);
  std::sort(sorted_.begin(), sorted_.end());
  const auto values = static_cast<double>(seconds_.size());
  for (const double value : seconds_) {
    mean_ += value / values;
  }
  for (const double value : seconds_) {
    variance_ += (value - mean_) * (value - mean_) / values;
  }
}

double Replay::draw(const Draw& draw) const {
  const std::size_t column = draw.rank % columns_;
  const std::size_t copy = draw.rank / columns_;
  const std::uint64_t begin = copy == 0 ? 0 : key(draw.seed, copy) % rows_;
  const std::uint64_t row =
      options_.axis == Axis::kIteration
          ? draw.iteration
          : static_cast<std::uint64_t>(draw.start.time_since_epoch() / options_.period);
  return seconds_[column * rows_ + (begin + row) % rows_];
}

std::optional<double> Replay::cdf(double seconds) const {
  const auto above = std::upper_bound(sorted_.begin(), sorted_.end(), seconds);
  return static_cast<double>(above - sorted_.begin()) / static_cast<double>(sorted_.size());
}

}  // namespace outpace::sim
