#include "sim/expected_norms.h"

#include <cmath>
#include <utility>
#include <variant>

#include "policy/policy.h"

namespace outpace::sim {

std::optional<server::MeasuredNorms> ExpectedNorms::see(const server::Effect& effect) {
  if (const auto* accepted = std::get_if<server::Accept>(&effect)) {
    accepted_ += accepted->examples > 0 ? 1 : 0;
    return std::nullopt;
  }
  const auto* step = std::get_if<server::StepWeights>(&effect);
  if (step == nullptr) {
    return std::nullopt;
  }
  std::uint32_t gradients = std::exchange(accepted_, 0U);
  if (!step->norms_for || gradients == 0) {
    return std::nullopt;
  }
  if (gradients == 1) {
    if (++lone_ < policy::kNormGroup) {
      return std::nullopt;
    }
    gradients = policy::kNormGroup;
  }
  lone_ = 0;
  return server::MeasuredNorms{.version = *step->norms_for,
                               .norms = {.mean = std::sqrt(1.0 + noise_scale_ / gradients),
                                         .single = std::sqrt(1.0 + noise_scale_),
                                         .gradients = gradients}};
}

}  // namespace outpace::sim
