// The part of a normal distribution beyond a point: what is believed of a value that is only known
// to be larger.

#pragma once

namespace outpace::runtime_model {

struct Normal {
  double mean = 0.0;
  double variance = 1.0;
};

// The mean and variance of y ~ from, given y > least.
[[nodiscard]] Normal truncated(const Normal& from, double least);

}  // namespace outpace::runtime_model
