// A hidden level per worker that stays, drifts a little, or jumps; filtered exactly.
//
//   level_t     of log seconds, on a lattice:  stays      with 1 - jump - drift
//                                              +-1 step   with drift
//                                              jumps      with jump, to where levels jump to
//   log x_t  =  c_t + level_t + N(0, sigma_w^2)      with 1 - outlier
//               c_t + level_t + a residual     with outlier, from past outliers
//   c_t         common to all workers (cluster_shift.h)
//
// A hidden Markov model whose forward filter is exact on the lattice. A runtime that was cut off
// after s updates the filter by its survival P(x > s | level) and stays censored. If its late time
// comes after all, the filter repeats that step with it. The parameters are learnt during the run
// from the filter's expected counts. These decay, so that the model follows a cluster that changes.
// Workers of one cluster share the probabilities, the distribution of jump targets, and part of
// sigma.
//
// This is our own engineering design, not a published one: a stopping problem needs a posterior
// that is fast and sharp. Rabiner, "A Tutorial on Hidden Markov Models" (1989), section III, has
// the filter; Cappe, "Online EM Algorithm for Hidden Markov Models" (2011), the kind of learning.
// Cost of an iteration: O(workers x lattice).

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/cluster_shift.h"
#include "runtime_model/emission.h"
#include "runtime_model/moving_grid.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class Switching final : public RuntimeModel {
 public:
  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;
  void keep(Archive& archive) override;

 private:
  struct Worker {
    Emission::Spread spread;  // Its own residuals'.
    // For correct(): iterations since it was observed as longer; 0 if that has been settled.
    std::uint32_t iterations_since = 0;
    double shift = 0.0;  // The common shift in that iteration.

    void keep(Archive& archive) {
      archive("spread", spread)("iterations_since", iterations_since)("shift", shift);
    }
  };
  // Posterior probabilities of how the level came about.
  struct Evidence {
    double jumped;   // Probability that the level has just jumped.
    double drifted;  // Probability that it has just drifted.
  };

  void begin(std::span<const Observation> iteration);
  void make_room();
  // The grid has moved up by this number of levels.
  void move_levels(int by);
  [[nodiscard]] std::span<float> row(std::vector<float>& of, std::uint32_t worker) {
    return {of.data() + std::size_t{worker} * levels_, levels_};
  }
  // Sets `stayed_part_`, `drifted_part_` and `jumped_part_`: the prior, given `from`, the posterior
  // of the step before.
  void predict(std::uint32_t worker, std::span<const float> from);
  [[nodiscard]] float prior(std::size_t level) const {
    return stayed_part_[level] + drifted_part_[level] + jumped_part_[level];
  }
  // Sets `anywhere_`: the distribution of a jump from `from` to a level that nobody has been at.
  void spread_anywhere(std::span<const float> from);
  // An iteration without an observation: the posterior is the prior.
  void pass_unseen(std::uint32_t worker);
  // Writes the posterior to `to`. REQUIRES: `likelihood_` is set.
  Evidence update(std::span<float> to);
  // `at`: the position of the observation, less the shift.
  void learn(std::uint32_t worker,
             Fate fate,
             double at,
             const Evidence& evidence,
             std::span<const float> posterior);
  void age();

  static constexpr int kSpacing = MovingGrid::kUnit;  // Bins between levels.

  MovingGrid grid_;
  std::size_t levels_ = 0;
  std::vector<Worker> workers_;
  std::vector<float> posterior_;  // workers x levels.
  std::vector<float> before_;     // The posterior before the last observation that is still open.
  std::vector<float> occupied_;  // Expected counts of where each worker has been, workers x levels.
  std::vector<float> jumps_;     // Expected counts of jump targets, over all workers.
  Emission emission_;
  ClusterShift cluster_shift_;
  Forecast forecast_;   // The newest.
  double shift_ = 0.0;  // The last iteration's, in bins.
  // Expected counts, including the priors.
  double steps_ = 0.0;
  double jumped_count_ = 0.0;
  double drifted_count_ = 0.0;
  // Scratch space.
  std::vector<float> stayed_part_;
  std::vector<float> drifted_part_;
  std::vector<float> jumped_part_;
  std::vector<float> anywhere_;
  Emission::Likelihood likelihood_;
  std::vector<float> mass_;
};

}  // namespace outpace::runtime_model
