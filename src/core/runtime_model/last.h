// Persistence: each worker's next runtime is close to its last one.
//
//   log x_t ~ N(log x_{t-1}, sigma^2),   sigma estimated from the changes of all workers' runtimes
//
// A baseline. For a worker that was cut off, the last runtime is its last known one, or the time it
// was given if that is longer.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/moving_grid.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class Last final : public RuntimeModel {
 public:
  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;
  void keep(Archive& archive) override {
    archive("grid", grid_)("last", last_)("squares", squares_)("count", count_);
  }

 private:
  MovingGrid grid_;
  std::vector<double> last_;  // In seconds.
  double squares_ = 0.0;      // Decaying sum of squared changes of log runtimes.
  double count_ = 0.0;
  std::vector<double> centers_;  // Scratch space.
};

}  // namespace outpace::runtime_model
