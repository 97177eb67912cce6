// YellowFin: momentum that tunes itself from the size and the spread of the gradients. In a closed
// loop it also subtracts the momentum that asynchrony adds.
//
// Like Adam's, its step does not grow with the gradient, so g is the unweighted mean and the weight
// of stale gradients scales the step. --lr is a factor on its own rate; 1 is the paper's choice.
// The authors' code also clips exploding gradients; here --clip-norm does that.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "update/optimizer.h"
#include "update/single_step.h"
#include "update/total_momentum.h"

namespace outpace::update {

struct YellowFinOptions {
  double beta = 0.999;        // Decay of every running mean E; in [0, 1).
  std::uint32_t window = 20;  // Updates over which the extremes of curvature are taken; at least 1.
  double gamma = 0.0;         // Gain of the closed loop; 0: open. The paper uses 0.01.
  std::uint32_t tau = 0;      // The staleness assumed by the closed loop.
};

//   g'   = g + decay * w
//   h    = |g'|^2;  log h_min, log h_max = E log of the least and greatest h in the window
//   C    = E |g'|^2 - |E g'|^2,   D = E (E |g'| / E |g'|^2)
//   mu*, alpha = single_step(h_min, h_max, C, D)
//   open    mu = mu*
//   closed  mu = mu + gamma * (mu* - mu_T), from 0, in (-1, 1); mu_T: total_momentum.h
//   move = mu * move - rate * mean_weight * min(1, t / (10 * window)) * alpha * g',   w += move
//
// Zhang, Mitliagkas, "YellowFin and the Art of Momentum Tuning", MLSys 2019, algorithms 1 to 5; the
// mean of logarithms and the slow start are its authors' own code's. Every E is without the bias of
// its beginning. A gradient of exactly 0 tells no curvature, and leaves all that is measured as it
// is. State: E g' and move, of the weights' size; closed, tau + 2 moves more.
class YellowFin final : public Optimizer {
 public:
  YellowFin(const YellowFinOptions& options, std::size_t size);

  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override;
  [[nodiscard]] bool scale_invariant() const override { return true; }
  void keep(Archive& archive) override;

 private:
  // Updates the measurements with gradient_, whose squared norm this is. REQUIRES: squared_norm >
  // 0.
  void observe(double squared_norm);
  [[nodiscard]] Landscape landscape() const;

  const YellowFinOptions options_;
  std::vector<float> gradient_;  // g'; a field only to reuse its memory.
  std::vector<float> mean_;      // E g' before bias correction, as are those below.
  std::vector<float> move_;
  std::vector<double> log_window_;  // Ring buffer of log h, as long as what is known.
  std::uint64_t observed_ = 0;      // Gradients that were not 0; also the t of the slow start.
  double beta_power_ = 1.0;
  double mean_norm_ = 0.0;
  double mean_square_ = 0.0;
  double mean_distance_ = 0.0;
  double mean_log_least_ = 0.0;
  double mean_log_greatest_ = 0.0;
  double target_ = 0.0;  // mu*
  double mu_ = 0.0;
  double alpha_ = 0.0;  // Before rate, mean_weight and slow start.
  std::optional<TotalMomentum> total_;
};

}  // namespace outpace::update
