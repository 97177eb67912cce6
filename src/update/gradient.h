// One gradient on its way in: is every number finite, how long is it, and clip it to a norm.

#pragma once

#include <span>

namespace outpace::update {

// Sum of squares in double. Finite exactly if every number is: the square of the greatest float32
// is about 1e77, so no sum of finite ones overflows a double.
[[nodiscard]] double squared_norm(std::span<const float> gradient);
// The squared norm of a - b, in double, as finite. REQUIRES: of the same size.
[[nodiscard]] double squared_distance(std::span<const float> a, std::span<const float> b);

// Scales in place so that the norm is at most `limit` (to float32 rounding), given the squared
// norm. Says whether it did. Clipping by norm: Pascanu, Mikolov, Bengio, "On the difficulty of
// training recurrent neural networks", ICML 2013, algorithm 1.
// REQUIRES: squared_norm is finite, limit > 0.
bool clip(std::span<float> gradient, double squared_norm, double limit);

}  // namespace outpace::update
