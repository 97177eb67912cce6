// The learning rate over the run, as a function of applied examples and not of updates, so that it
// is the same for every policy; and its scale by the share of a nominal update that was accepted.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/spec.h"

namespace outpace::update {

// Specs: "constant", "step:every=E,factor=0.1", "cosine:over=E,floor=0"; each also takes
// "warmup=E" (linear from 0 over the first E examples; the rest of the course is not shifted).
//
//   constant  1
//   step      factor^floor(examples / every)
//   cosine    floor + (1 - floor) * (1 + cos(pi * min(1, examples / over))) / 2
//             Loshchilov, Hutter, "SGDR", ICLR 2017, eq. 5, one period without restart
//   warmup    times min(1, examples / warmup): Goyal et al., "Accurate, Large Minibatch SGD",
//             2017, section 2.2
class Schedule {
 public:
  // Throws a usage error that names the nearest schedule.
  static Schedule parse(const Spec& spec);

  // The factor on the base rate after `examples` applied examples; in [0, 1].
  [[nodiscard]] double factor(std::uint64_t examples) const;

  enum class Kind : std::uint8_t { kConstant, kStep, kCosine };

 private:
  Kind kind_ = Kind::kConstant;
  std::uint64_t period_ = 1;  // every or over, in examples.
  double factor_ = 1.0;
  double floor_ = 0.0;
  std::uint64_t warmup_ = 0;  // In examples.
};

enum class RateScale : std::uint8_t { kNone, kSqrt, kLinear };

// The factor for an update of `accepted` examples where `nominal` are usual: 1, sqrt(accepted /
// nominal), or accepted / nominal. The square root keeps the variance of a step (Krizhevsky, "One
// weird trick for parallelizing convolutional neural networks", 2014), the linear factor its mean
// (Goyal et al. 2017, section 2.1). REQUIRES: nominal >= 1.
[[nodiscard]] double rate_scale(RateScale scale, std::uint64_t accepted, std::uint64_t nominal);

}  // namespace outpace::update
