// The shift of log seconds that all workers share in an iteration.
//
//   log x_(t,w)  =  c_t + what the worker's own history predicts
//
// A congested network or a slow server slows every worker at once. After an iteration, c_t is the
// maximum-likelihood shift. It stays 0 unless another value is much likelier, so that a few workers
// that turn slow on their own are not mistaken for a common shift. The next shift is forecast
// either as one of the past shifts, or as the last shift plus one of the past steps, whichever
// predicted better recently.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/archive.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class ClusterShift {
 public:
  // Returns the shift, in bins, of an iteration for which `forecast` had been made, and remembers
  // it.
  double observe(const Forecast& forecast, std::span<const Observation> iteration);

  // The shift of the next iteration, the likeliest value first.
  [[nodiscard]] std::vector<Forecast::Shift> forecast() const;

  void keep(Archive& archive) { archive("seen", seen_)("score", score_); }

 private:
  static constexpr std::size_t kKept = 64;

  [[nodiscard]] std::vector<Forecast::Shift> by_value() const;
  [[nodiscard]] std::vector<Forecast::Shift> by_step() const;

  std::vector<int> seen_;  // Rounded, the newest last; at most kKept.
  double score_ = 0.0;     // Decaying log-likelihood ratio of steps over values.
};

}  // namespace outpace::runtime_model
