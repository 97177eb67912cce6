// Each worker's own moving average, and what all workers' runtimes did around theirs.
//
//   level_w  <-  level_w + a (log x_w - level_w)
//   log x_w   =  level_w + r,   r drawn from the last residuals of all workers (a bootstrap)
//
// Of a worker that was cut off, the level rises to what it was given, if it was below: the least
// that explains it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class Ewma final : public RuntimeModel {
 public:
  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;

 private:
  void take(std::uint32_t worker, double seconds);

  TimeGrid grid_;
  std::vector<double> levels_;     // Of log seconds.
  std::vector<bool> known_;        // Whose level is.
  std::vector<double> residuals_;  // The newest, in a ring.
  std::size_t next_ = 0;           // Where in the ring.
  std::vector<float> mass_;        // In hand.
  std::vector<float> kernel_;
};

}  // namespace outpace::runtime_model
