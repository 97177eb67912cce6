// Checks and operations on one incoming gradient: whether every number is finite, its norm, and
// clipping.

#pragma once

#include <span>

namespace outpace::update {

// Looks at the exponents alone, which compilers do for many numbers at a time.
[[nodiscard]] bool all_finite(std::span<const float> numbers);
// A SquareSum's: finite exactly if every number is.
[[nodiscard]] double squared_norm(std::span<const float> gradient);
// The squared norm of a - b, in double; finite under the same condition. REQUIRES: equal sizes.
[[nodiscard]] double squared_distance(std::span<const float> a, std::span<const float> b);

// Scales the gradient in place so that its norm is at most `limit` (up to float32 rounding), given
// its squared norm. Returns whether it did. Clipping by norm: Pascanu, Mikolov, Bengio, "On the
// difficulty of training recurrent neural networks", ICML 2013, algorithm 1. REQUIRES: squared_norm
// is finite, limit > 0.
bool clip(std::span<float> gradient, double squared_norm, double limit);

}  // namespace outpace::update
