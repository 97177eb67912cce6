// All workers are identical and normal, with the moments of the last iteration:
//
//   x_w ~ N(mu, sigma^2), independent
//
// The analytic baseline of Teng & Wood, "Bayesian Distributed Stochastic Gradient Descent" (2018):
// expected order statistics follow from Elfving's formula (draws.h). The workers that were cut off
// in the last iteration enter mu and sigma in one of two ways:
//
//   censored    maximum likelihood: density of who arrived, P(x > s) of who was cut off after s
//   truncated   maximum likelihood of who arrived, given x <= s: how many did not is not used, but
//               as an upper limit of how many the normal expects beyond s

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/moving_grid.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

enum class ElfvingFit : std::uint8_t { kCensored, kTruncated };

// The moments of an iteration in which somebody arrived. Busy workers are left out.
[[nodiscard]] Alike elfving_moments(std::span<const Observation> iteration, ElfvingFit fit);

class Elfving final : public RuntimeModel {
 public:
  explicit Elfving(ElfvingFit fit) : fit_(fit) {}

  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;
  void keep(Archive& archive) override { archive("grid", grid_)("last", last_); }

 private:
  const ElfvingFit fit_;  // Constant after construction.
  MovingGrid grid_;
  std::vector<Observation> last_;  // Each worker's last; busy: it has none yet.
};

}  // namespace outpace::runtime_model
