// The median of numbers, by selection. For an even count it is one of the two in the middle, so
// that it is always a number that occurred.

#pragma once

#include <algorithm>
#include <cstddef>

namespace outpace {

// For an even count, the larger of the two in the middle. Reorders `values`, a vector or an array.
// REQUIRES: not empty.
template <typename Values>
[[nodiscard]] typename Values::value_type upper_median(Values& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The same, but of two in the middle the smaller.
template <typename Values>
[[nodiscard]] typename Values::value_type lower_median(Values& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace outpace
