// All workers are identical and normal; the last iteration's sample moments predict the next one.
//
//   x_w ~ N(mu, sigma^2), independent;   mu, sigma: sample moments of the last iteration
//
// Elfving, "The asymptotical distribution of range in samples from a normal population" (1947),
// gives E[x_(j)] ~ mu + sigma Phi^-1((j - pi/8) / (n - pi/4 + 1)). This class estimates it from
// draws instead. It is the analytic baseline of Teng & Wood, "Bayesian Distributed Stochastic
// Gradient Descent" (2018). A censored runtime counts as if it were observed.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class Elfving final : public RuntimeModel {
 public:
  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;
  void keep(Archive& archive) override { archive("grid", grid_)("last", last_); }

 private:
  TimeGrid grid_;
  std::vector<double> last_;  // In seconds; 0 if not known.
};

}  // namespace outpace::runtime_model
