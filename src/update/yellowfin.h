// YellowFin: momentum that tunes itself, from the size and the spread of the gradients it sees;
// and, in a closed loop, with what asynchrony adds taken off.
//
// Like adam's, its step does not grow with the gradient, so g is the unweighted mean and the weight
// of stale gradients scales the step. --lr is a factor on its own rate: 1 is the paper's. Its
// authors' code also clips gradients that explode; here that is --clip-norm's.

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
  double beta = 0.999;        // In [0, 1): of every running mean E.
  std::uint32_t window = 20;  // Updates over which the curvature's extremes are taken; at least 1.
  double gamma = 0.0;         // Of the closed loop; 0: open. The paper's is 0.01.
  std::uint32_t tau = 0;      // Staleness that the closed loop reckons with.
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

 private:
  // Takes in gradient_, which has this squared norm, above 0.
  void observe(double squared_norm);
  [[nodiscard]] Landscape landscape() const;

  const YellowFinOptions options_;
  std::vector<float> gradient_;  // g'; a field only to keep its memory.
  std::vector<float> mean_;      // E g', with its bias, as are those below.
  std::vector<float> move_;
  std::vector<double> log_window_;  // Round, of log h; as long as what is known of it.
  std::uint64_t observed_ = 0;      // Gradients that were not 0: the t of the slow start, too.
  double beta_power_ = 1.0;
  double mean_norm_ = 0.0;
  double mean_square_ = 0.0;
  double mean_distance_ = 0.0;
  double mean_log_least_ = 0.0;
  double mean_log_greatest_ = 0.0;
  double target_ = 0.0;  // mu*
  double mu_ = 0.0;
  double alpha_ = 0.0;  // Before rate, mean_weight and the slow start.
  std::optional<TotalMomentum> total_;
};

}  // namespace outpace::update
