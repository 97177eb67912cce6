// A hidden level for each worker, filtered: it stays, drifts a little, or jumps.
//
//   level_t     of log seconds, on a lattice:  stays      with 1 - jump - drift
//                                              +-1 step   with drift
//                                              jumps      with jump, to where levels jump to
//   log x_t  =  c_t + level_t + N(0, sigma_w^2)      with 1 - outlier
//               c_t + level_t + a residual     with outlier, of those seen before
//   c_t         what all workers have in common (cluster_shift.h)
//
// A hidden Markov model whose forward filter is exact on the lattice. A runtime that was cut off
// after s updates by its survival P(x > s | level) and stays censored; when its late time comes
// after all, the filter takes that step again with it. The parameters are learnt in the run, by
// expected counts of the filter, which decay: so it follows a cluster that changes. What workers of
// one cluster have in common is pooled: the chances, where levels jump to, and in part sigma.
//
// An engineering design of ours (a stopping problem on the posterior wants one that is quick and
// sharp), not a published one. Rabiner, "A Tutorial on Hidden Markov Models" (1989), section III,
// has the filter; Cappe, "Online EM Algorithm for Hidden Markov Models" (2011) the kind of
// learning. Cost of an iteration: O(workers x lattice).

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/cluster_shift.h"
#include "runtime_model/emission.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class Switching final : public RuntimeModel {
 public:
  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;

 private:
  struct Worker {
    Emission::Spread spread;  // Of its own residuals.
    // For correct(): how many iterations ago it was shown as longer, 0 if none is open.
    std::uint32_t iterations_since = 0;
    double shift = 0.0;  // Of that iteration.
  };
  // What one observation says of how its level came about.
  struct Evidence {
    double jumped;   // The chance that the level has just jumped.
    double drifted;  // Or drifted.
  };

  void begin(std::span<const Observation> iteration);
  [[nodiscard]] std::span<float> row(std::vector<float>& of, std::uint32_t worker) {
    return {of.data() + std::size_t{worker} * levels_, levels_};
  }
  // Sets `stayed_part_`, `drifted_part_` and `jumped_part_`: the prior, whose past is `from`.
  void predict(std::uint32_t worker, std::span<const float> from);
  [[nodiscard]] float prior(std::size_t level) const {
    return stayed_part_[level] + drifted_part_[level] + jumped_part_[level];
  }
  // An iteration of which nothing is known: the prior is all there is.
  void pass_unseen(std::uint32_t worker);
  // `likelihood_` is set; the posterior goes to `to`.
  Evidence update(std::span<float> to);
  // `at`: the position of what was seen, less the shift.
  void learn(std::uint32_t worker,
             Fate fate,
             double at,
             const Evidence& evidence,
             std::span<const float> posterior);
  void age();

  static constexpr int kSpacing = 3;  // Of levels, in bins.

  TimeGrid grid_;
  std::size_t levels_ = 0;
  std::vector<Worker> workers_;
  std::vector<float> posterior_;  // workers x levels.
  std::vector<float> before_;     // As it was before the last observation that is still open.
  std::vector<float> occupied_;   // Where each worker has been, in counts.
  std::vector<float> jumps_;      // Where levels jumped to, of all workers.
  Emission emission_;
  ClusterShift cluster_shift_;
  Forecast forecast_;   // The newest.
  double shift_ = 0.0;  // Of the last iteration, in bins.
  // Expected counts; the priors are in them from the start.
  double steps_ = 0.0;
  double jumped_count_ = 0.0;
  double drifted_count_ = 0.0;
  // In hand.
  std::vector<float> stayed_part_;
  std::vector<float> drifted_part_;
  std::vector<float> jumped_part_;
  Emission::Likelihood likelihood_;
  std::vector<float> mass_;
};

}  // namespace outpace::runtime_model
