// What the norms of gradients without numbers are taken to be: those that gradients of a known
// noise scale have on average. A policy that goes by the noise then finds this scale.
//
// With phi = V / ||grad F||^2 in gradients, an update of c of them has a mean whose squared norm is
// 1 + phi / c in expectation, in units of ||grad F||^2, and a single one has 1 + phi
// (S. McCandlish et al., "An Empirical Model of Large-Batch Training", 2018, appendix A).

#pragma once

#include <cstdint>
#include <optional>

#include "server/driver.h"

namespace outpace::sim {

class ExpectedNorms {
 public:
  // `noise_scale`: in gradients; at least 0.
  explicit ExpectedNorms(double noise_scale) : noise_scale_(noise_scale) {}

  // Sees the coordinator's effects in their order. Gives the norms of a step that asked for them;
  // of steps of one gradient, those of a group, after the last of it, as a shard does.
  [[nodiscard]] std::optional<server::MeasuredNorms> see(const server::Effect& effect);

 private:
  double noise_scale_;
  std::uint32_t accepted_ = 0;  // Since the last step.
  std::uint32_t lone_ = 0;      // Steps of one gradient since the last group.
};

}  // namespace outpace::sim
