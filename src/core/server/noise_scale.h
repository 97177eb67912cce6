// The gradient noise scale of a run, for the record: how many examples an update should have. The
// statistics are policy/gradient_noise.h's, over some hundred updates.

#pragma once

#include <cstdint>
#include <optional>

#include "policy/gradient_noise.h"
#include "server/effects.h"

namespace outpace::server {

class NoiseScale {
 public:
  // `batch`: examples of each gradient.
  explicit NoiseScale(std::uint32_t batch) : batch_(batch) {}

  // The norms of one update's gradients.
  void add(const GradientNorms& norms) { noise_.hear(norms.mean, norms.single, norms.gradients); }
  // Nothing before an update of several gradients.
  [[nodiscard]] std::optional<double> examples() const { return noise_.scale(batch_); }
  void keep(Archive& archive) { noise_.keep(archive); }

 private:
  double batch_;
  policy::GradientNoise noise_;
};

}  // namespace outpace::server
