// The effective momentum of a run: the optimizer's plus what asynchrony adds, measured from the
// weights' last moves.
//
//   mu_T = median over the weights i of (move_s(i) + alpha * g_i) / move_(s - 1)(i)
//
// g was computed on the weights of version s = now - tau, and move_s leads from version s to s + 1.
// Moves of the form move_s = mu_T * move_(s - 1) - alpha * g have exactly this mu_T. Zhang,
// Mitliagkas, "YellowFin and the Art of Momentum Tuning", MLSys 2019, section 4; Mitliagkas et al.,
// "Asynchrony begets momentum", Allerton 2016, explains why tau > 0 adds momentum.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/archive.h"

namespace outpace::update {

// State: tau + 2 moves, each of the weights' size in float32.
class TotalMomentum {
 public:
  TotalMomentum(std::uint32_t tau, std::size_t size);

  // `move` is the weights' newest move, caused by `gradient` times alpha. Weights whose earlier
  // move was 0 are skipped; for an even number the larger middle value counts. Nothing if all were
  // skipped, or with fewer than tau + 2 moves. REQUIRES: both spans have the size given at
  // construction.
  [[nodiscard]] std::optional<double> measure(std::span<const float> move,
                                              double alpha,
                                              std::span<const float> gradient);

  void keep(Archive& archive) { archive("moves", moves_)("next", next_)("known", known_); }

 private:
  const std::size_t size_;
  std::vector<std::vector<float>> moves_;  // A ring buffer; the oldest is replaced next.
  std::size_t next_ = 0;
  std::size_t known_ = 0;
  std::vector<float> ratios_;  // A field only to reuse its memory.
};

}  // namespace outpace::update
