// The dependence between workers: the ranks that their runtimes had in their own forecasts, over
// the last iterations.
//
//   u_(t,w) = F_(t,w)(x_(t,w));    draw k of the next iteration:  x_w = F_w^-1(u_(k,w)),  all w
//
// What slows several workers together (a machine, a switch) thus does so in the draws as often and
// as jointly as it did in the past, without a model of it. This is an empirical copula, known in
// weather forecasting as the Schaake shuffle (Clark et al., "The Schaake Shuffle", J.
// Hydrometeorology 2004). For a worker that was cut off, the rank is uniform above that of the time
// it was given, and independent of the others: workers that happened to be last have nothing in
// common.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/rng.h"
#include "runtime_model/forecast.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class RankHistory {
 public:
  // `forecast` had been made for this iteration.
  void observe(const Forecast& forecast, std::span<const Observation> iteration);

  // Iterations x workers, in no particular order; empty while there are too few iterations.
  [[nodiscard]] std::span<const float> ranks() const;

  void keep(Archive& archive) {
    archive("kept", kept_)("workers", workers_)("next", next_)("ranks", ranks_)("rng", rng_);
  }

 private:
  std::size_t kept_ = 0;  // Most iterations that are kept.
  std::size_t workers_ = 0;
  std::size_t next_ = 0;
  std::vector<float> ranks_;
  Rng rng_{0x6a09e667f3bcc908U, 0};  // Draws the rank within a bin, and above a censoring time.
};

}  // namespace outpace::runtime_model
