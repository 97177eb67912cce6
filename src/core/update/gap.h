// Gap-aware: divides each number of a gradient by the distance that its weight has moved meanwhile,
// in units of that weight's usual step.
//
//   G_i  = 1 + |w_i - then_i| / C_i,   then = the weights that the gradient was computed on
//   g_i <- g_i / G_i
//   C_i  = running mean of |step_i| = sum_t (1 - m) m^(T - t) |step_i(t)| / (1 - m^T)
//
// Barkai, Hakimi, Schuster, "Gap-Aware Mitigation of Gradient Staleness", ICLR 2020: the penalty
// that is linear in the gap, per parameter. If all steps are equal, G is 1 + tau. If the weights
// moved back and forth and returned, G is 1, whatever tau is. The mean decays by m per update,
// because steps shrink with the learning rate and older, larger steps would hide the gap.

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
  void keep(Archive& archive) override { archive("m_power", m_power_)("travel", travel_); }

 private:
  const double m_;
  // m^T, by repeated multiplication, because pow() differs between libraries.
  double m_power_ = 1.0;
  std::vector<float> travel_;  // C * (1 - m^T).
  ReleasedWeights released_;
};

}  // namespace outpace::update
