// Each worker's own exponentially weighted moving average, with residuals pooled over all workers.
//
//   level_w  <-  level_w + a (log x_w - level_w)
//   log x_w   =  level_w + r,   r drawn from the last residuals of all workers (a bootstrap)
//
// A worker that was cut off raises its level to the time it was given, if the level was below: the
// smallest level that explains the cutoff.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/moving_grid.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class Ewma final : public RuntimeModel {
 public:
  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;
  void keep(Archive& archive) override {
    archive("grid", grid_)("levels", levels_)("known", known_)("residuals", residuals_);
    archive("next", next_);
  }

 private:
  void take(std::uint32_t worker, double seconds);

  MovingGrid grid_;
  std::vector<double> levels_;     // In log seconds.
  std::vector<bool> known_;        // Workers whose level is known.
  std::vector<double> residuals_;  // The newest, in a ring buffer.
  std::size_t next_ = 0;           // Next position in the ring buffer.
  std::vector<float> mass_;        // Scratch space.
  std::vector<float> kernel_;
};

}  // namespace outpace::runtime_model
