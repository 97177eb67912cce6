// From how many workers on nothing is gained.

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

// The first of these, in the order of their workers, that has 95 % of the highest rate, if what
// comes after it adds less than half of what as many workers ought to. Nothing if all that more
// workers add is worth them.
[[nodiscard]] std::optional<std::size_t> saturated_at(const std::vector<RateOf>& rates);

}  // namespace outpace::throughput
