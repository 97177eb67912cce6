// Gap-aware: each number of a gradient is divided by how far its weight has moved meanwhile,
// counted in usual steps of that weight.
//
//   G_i  = 1 + |w_i - then_i| / C_i,   then = the weights that the gradient was computed on
//   g_i <- g_i / G_i
//   C_i  = running mean of |step_i| = sum_t (1 - m) m^(T - t) |step_i(t)| / (1 - m^T)
//
// Barkai, Hakimi, Schuster, "Gap-Aware Mitigation of Gradient Staleness", ICLR 2020: the penalty
// that is linear in the gap, for each parameter by itself. Where all steps are alike, G is 1 + tau;
// where the weights went to and fro, and back, G is 1, whatever tau is. The mean forgets, by m an
// update: steps shrink with the learning rate, and old greater ones would then hide the gap.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "update/correction.h"
#include "update/released_weights.h"

namespace outpace::update {

// State: C, of the weights' size, and the weights that each worker was released with.
class Gap final : public Correction {
 public:
  // REQUIRES: 0 <= m < 1.
  Gap(double m, std::size_t size);

  void released(WorkerId worker, const SharedWeights& weights) override {
    released_.keep(worker, weights);
  }
  void correct(const Corrected& of,
               std::span<float> gradient,
               std::span<const float> weights) override;
  void stepped(std::span<const float> before, std::span<const float> after) override;
  void forget(WorkerId worker) override { released_.forget(worker); }

 private:
  const double m_;
  double m_power_ = 1.0;       // m^T; multiplied up, since pow differs from library to library.
  std::vector<float> travel_;  // C * (1 - m^T).
  ReleasedWeights released_;
};

}  // namespace outpace::update
