// Tomorrow is as today: each worker's next runtime is about its last one.
//
//   log x_t ~ N(log x_{t-1}, sigma^2),   sigma of how runtimes changed, over all workers
//
// A baseline. Of a worker that was cut off, the runtime is taken for its last known one, and for no
// less than what it was given.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class Last final : public RuntimeModel {
 public:
  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;

 private:
  TimeGrid grid_;
  std::vector<double> last_;  // In seconds.
  double squares_ = 0.0;      // Of changes of log runtimes, discounted.
  double count_ = 0.0;
  std::vector<double> centers_;  // In hand.
};

}  // namespace outpace::runtime_model
