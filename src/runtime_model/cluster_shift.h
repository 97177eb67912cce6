// What all workers' runtimes have in common, iteration by iteration: a shift of log seconds.
//
//   log x_(t,w)  =  c_t + what the worker's own history says
//
// A full network or a slow server slows all at once. After an iteration c_t is the shift that makes
// what was seen likeliest; it is 0 unless another is much likelier, so that workers that turn slow
// by themselves are not taken for all. The next one is forecast as one of those that there were, or
// as the last one and a step like those that there were, by which of the two foretold better of
// late.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class ClusterShift {
 public:
  // The shift of an iteration for which `forecast` had been made, in bins; it is kept in mind.
  double observe(const Forecast& forecast, std::span<const Observation> iteration);

  // Of the next iteration; the likeliest first.
  [[nodiscard]] std::vector<Forecast::Shift> forecast() const;

 private:
  static constexpr std::size_t kKept = 64;

  [[nodiscard]] std::vector<Forecast::Shift> by_value() const;
  [[nodiscard]] std::vector<Forecast::Shift> by_step() const;

  std::vector<int> seen_;  // Rounded, the newest last; at most kKept.
  double score_ = 0.0;     // Of steps over values: a decaying log-likelihood ratio.
};

}  // namespace outpace::runtime_model
