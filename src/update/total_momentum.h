// How much momentum a run really has: that of the optimizer and what asynchrony adds, measured from
// the weights' last moves.
//
//   mu_T = median over the weights i of (move_s(i) + alpha * g_i) / move_(s - 1)(i)
//
// where g was computed on the weights of version s = now - tau, and move_s leads from version s to
// s + 1. Moves of the form move_s = mu_T * move_(s - 1) - alpha * g have just this mu_T. Zhang,
// Mitliagkas, "YellowFin and the Art of Momentum Tuning", MLSys 2019, section 4; Mitliagkas et al.,
// "Asynchrony begets momentum", Allerton 2016, for why tau > 0 adds some.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace outpace::update {

// State: tau + 2 moves, each of the weights' size in float32.
class TotalMomentum {
 public:
  TotalMomentum(std::uint32_t tau, std::size_t size);

  // The weights' newest move came from this gradient, times alpha. Weights that did not move a
  // version earlier say nothing; of two in the middle, the greater one counts. Nothing: none said
  // anything, or there are not tau + 2 moves yet. REQUIRES: both spans have the size given.
  [[nodiscard]] std::optional<double> measure(std::span<const float> move,
                                              double alpha,
                                              std::span<const float> gradient);

 private:
  const std::size_t size_;
  std::vector<std::vector<float>> moves_;  // Round; the oldest is the next to be replaced.
  std::size_t next_ = 0;
  std::size_t known_ = 0;
  std::vector<float> ratios_;  // A field only to keep its memory.
};

}  // namespace outpace::update
