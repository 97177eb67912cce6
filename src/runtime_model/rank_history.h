// How the workers' runtimes went together: the ranks that they had in their own forecasts, of the
// last iterations.
//
//   u_(t,w) = F_(t,w)(x_(t,w));    draw k of the next iteration:  x_w = F_w^-1(u_(k,w)),  all w
//
// So what slows several workers together (a machine, a switch) does so in the draws, as often and
// as jointly as it did, without being modelled: an empirical copula, known in weather forecasting
// as the Schaake shuffle (Clark et al., "The Schaake Shuffle", J. Hydrometeorology 2004). Of a
// worker that was cut off the rank is anywhere above that of what it was given, by itself: those
// who happened to come last have nothing in common.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "runtime_model/forecast.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class RankHistory {
 public:
  // `forecast` had been made for this iteration.
  void observe(const Forecast& forecast, std::span<const Observation> iteration);

  // Iterations x workers, in no order; empty while there are too few.
  [[nodiscard]] std::span<const float> ranks() const;

 private:
  std::size_t kept_ = 0;  // Iterations, at most.
  std::size_t workers_ = 0;
  std::size_t next_ = 0;
  std::vector<float> ranks_;
  Rng rng_{0x6a09e667f3bcc908U, 0};  // Where in a bin, and above a bound.
};

}  // namespace outpace::runtime_model
