// The deep runtime model: a deep Markov model of each worker's runtimes. All workers share its
// weights, which `outpace fit` learns before the run.
//
// After each iteration the inference network updates q(z_t) of every worker. The forecast is the
// emission of z_t+1, averaged over a few draws of q and of the transition: a mixture of lognormals
// per worker. A worker that was cut off enters as "longer than s", for the networks were fitted to
// iterations cut off at random. If its late time comes after all, that step is repeated with it.
// Joint draws of all workers' runtimes take their ranks from past iterations (rank_history.h).
//
// Teng & Wood, "Bayesian Distributed Stochastic Gradient Descent" (NeurIPS 2018), have one latent
// state and one emission for a cluster of one size: deep_joint.h. This model forecasts any number
// of workers. It is deterministic: the draws are the same in every iteration.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime_model/deep_features.h"
#include "runtime_model/deep_network.h"
#include "runtime_model/lognormal_table.h"
#include "runtime_model/moving_grid.h"
#include "runtime_model/rank_history.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

// The normal draws that each forecast uses: kDeepDraws pairs of z_t and z_t+1, `latent` numbers
// each. The second half mirrors the first (antithetic). The fit uses the same draws
// (fit/deep_modules.h). With so few, weights that were fitted to other draws would misjudge a rare
// slow runtime by several per cent.
inline constexpr std::size_t kDeepDraws = 4;
[[nodiscard]] std::vector<float> deep_draws(std::size_t latent);

class Deep final : public RuntimeModel {
 public:
  // REQUIRES: check(weights) passes.
  explicit Deep(const DeepWeights& weights);

  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;
  void keep(Archive& archive) override;

 private:
  void begin(std::span<const Observation> iteration);
  void add_draw(std::size_t draw);

  DeepNetwork network_;
  MovingGrid grid_;
  std::size_t workers_ = 0;
  DeepFeatures features_;
  RankHistory ranks_;
  std::optional<Forecast> forecast_;  // For the next iteration, if it was made.
  DeepNetwork::State state_;          // After the last iteration.
  DeepNetwork::State before_;         // Before the last iteration of each worker that was cut off.
  std::vector<float> seen_then_;      // Features of that iteration, features x workers.
  std::vector<double> reference_then_;  // Its reference level, in log seconds.
  std::vector<bool> open_;              // Workers that were cut off last and may still come.
  LognormalTable lognormals_;
  // Scratch space.
  std::vector<float> taken_;
  std::vector<float> noise_;
  std::vector<float> latent_;
  DeepNetwork::Normals next_;
  DeepNetwork::Mixture mixture_;
  std::vector<float> mass_;  // workers x bins
};

}  // namespace outpace::runtime_model
