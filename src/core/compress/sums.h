// Numbers x together with what is left of earlier ones, e: a = x + share * e is packed, and what
// that leaves behind becomes the next e (compress/feedback.h).

#pragma once

#include <span>

namespace outpace::compress {

// All have one size, and `after` overlaps none.
struct Sums {
  std::span<const float> numbers;
  std::span<const float> before;
  float share;
  std::span<float> after;
};

}  // namespace outpace::compress
