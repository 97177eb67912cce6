// What the deep runtime model is told of an iteration: for each worker a few numbers, relative to
// the cluster's own level, so that what was learnt with one network holds for a slower one.
//
//   0  log seconds, of one that was cut off those that it was given
//   1  1 if it was cut off: its runtime is longer
//   2  the median of (0) over the workers
//   3  the mean of (0) over the workers, each within [-2, 3]
//   4  the part of the workers that was cut off
//   5  (0) of the iteration before this one that it last arrived in; of one that never has, what it
//      was given at first
//   6  how many iterations ago that was: log(1 + those since then)
//
// Log seconds are less the reference: a level that follows the iterations' medians slowly. The last
// two are what a recurrent network would have to count and keep over hundreds of iterations, when
// it is fitted to pieces of some dozens.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

inline constexpr std::uint32_t kDeepFeatures = 7;

class DeepFeatures {
 public:
  // `ahead`: how far the reference is off at the start, in log seconds; for training, which sees
  // short pieces of long runs.
  explicit DeepFeatures(double ahead = 0.0) : ahead_(ahead) {}

  // An iteration's, as a matrix of features x workers; those of a busy worker are 0.
  // REQUIRES: not all are busy.
  void take(std::span<const Observation> iteration, std::vector<float>& out);
  // A worker that was cut off in the last iteration that it took part in has come after all.
  void correct(std::uint32_t worker, double seconds);
  // Feature 0 of so many seconds.
  [[nodiscard]] static float relative(double seconds, double reference);
  // In log seconds. What is forecast is relative to it. REQUIRES: one was taken.
  [[nodiscard]] double reference() const { return reference_; }

 private:
  double ahead_;
  bool begun_ = false;
  double reference_ = 0.0;
  struct Last {
    double log_seconds = 0.0;
    std::uint32_t since = 0;  // Iterations.
    bool known = false;
  };
  std::vector<Last> last_;    // Of each worker.
  std::vector<double> logs_;  // In hand.
};

}  // namespace outpace::runtime_model
