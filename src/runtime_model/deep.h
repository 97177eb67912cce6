// The deep runtime model: a deep Markov model of each worker's runtimes, whose weights were fitted
// beforehand (`outpace fit`) and are shared by all workers.
//
// After each iteration the inference network moves each worker's q(z_t) on; the forecast is the
// emission of z_t+1, over a few draws of q and of the transition: a mixture of lognormals a worker.
// A worker that was cut off comes in as just that, "longer than": the networks were fitted to
// iterations cut off at random. Its late time, if it comes after all, takes that step again.
// Draws of all workers' runtimes together have the ranks of past iterations (rank_history.h).
//
// Teng & Wood, "Bayesian Distributed Stochastic Gradient Descent" (NeurIPS 2018), have one latent
// state and one emission for a cluster of one size; here any number of workers can be forecast.
// Deterministic: the draws are the same in every iteration.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime_model/deep_features.h"
#include "runtime_model/deep_network.h"
#include "runtime_model/rank_history.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

// The normal draws by which each forecast is made: of z_t and of z_t+1, latent numbers each. The
// second half mirrors the first. The fit uses the same ones (fit/deep_modules.h): so few would be
// off, by some per cent of how likely a rare slow runtime is, for networks fitted to others.
inline constexpr std::size_t kDeepDraws = 4;
[[nodiscard]] std::vector<float> deep_draws(std::size_t latent);

class Deep final : public RuntimeModel {
 public:
  // REQUIRES: check(weights) passes.
  explicit Deep(const DeepWeights& weights);

  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;

 private:
  void begin(std::span<const Observation> iteration);
  void add_draw(std::size_t draw);
  void add_lognormal(std::size_t worker, double position, float log_sigma, float weight);

  DeepNetwork network_;
  TimeGrid grid_;
  std::size_t workers_ = 0;
  DeepFeatures features_;
  RankHistory ranks_;
  std::optional<Forecast> forecast_;            // For the iteration to come, if it was made.
  DeepNetwork::State state_;                    // After the last iteration;
  DeepNetwork::State before_;                   // before a worker's last one that was cut off,
  std::vector<float> seen_then_;                // with what was known of it: features x workers.
  std::vector<double> reference_then_;          // And relative to what.
  std::vector<bool> open_;                      // Who was cut off last, and may come late.
  std::vector<std::vector<float>> lognormals_;  // By log sigma: the masses of bins about a mean.
  // In hand.
  std::vector<float> taken_;
  std::vector<float> noise_;
  std::vector<float> latent_;
  DeepNetwork::Normals next_;
  DeepNetwork::Mixture mixture_;
  std::vector<float> mass_;  // workers x bins
};

}  // namespace outpace::runtime_model
