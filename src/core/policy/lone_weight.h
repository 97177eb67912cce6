// The weight of a gradient that is an update all by itself.
//
// A set of gradients is divided by its examples, so that a partial one counts for what is in it. A
// lone one has nothing to be divided against: with weight 1 a single example would move the weights
// as far as a whole mini-batch does, only more noisily.

#pragma once

#include <algorithm>

#include "policy/policy.h"

namespace outpace::policy {

[[nodiscard]] inline double lone_weight(const GradientArrived& gradient) {
  return std::min(1.0, static_cast<double>(gradient.examples) / gradient.nominal);
}

}  // namespace outpace::policy
