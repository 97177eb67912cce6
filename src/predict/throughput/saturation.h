// The number of workers from which on more gain nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace outpace::throughput {

struct RateOf {
  std::uint32_t workers;
  double rate;
};

// Index of the first rate that reaches 95 % of the highest rate, if all further workers together
// add less than half of what proportional scaling would. `rates` are in the order of their workers.
// Nothing if further workers pay off.
[[nodiscard]] std::optional<std::size_t> saturated_at(const std::vector<RateOf>& rates);

}  // namespace outpace::throughput
