// What the deep runtime model is told of an iteration: for each worker a few numbers, relative to
// the cluster's own level, so that what was learnt with one network holds for a slower one.
//
//   0  log seconds, of one that was cut off those that it was given
//   1  1 if it was cut off: its runtime is longer
//   2  the median of (0) over the workers
//   3  the mean of (0) over the workers, each within [-2, 3]
//   4  the part of the workers that was cut off
//
// Log seconds are less the reference: a level that follows the iterations' medians slowly.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

inline constexpr std::uint32_t kDeepFeatures = 5;

class DeepFeatures {
 public:
  // `ahead`: how far the reference is off at the start, in log seconds; for training, which sees
  // short pieces of long runs.
  explicit DeepFeatures(double ahead = 0.0) : ahead_(ahead) {}

  // An iteration's, as a matrix of features x workers; those of a busy worker are 0.
  // REQUIRES: not all are busy.
  void take(std::span<const Observation> iteration, std::vector<float>& out);
  // Feature 0 of so many seconds.
  [[nodiscard]] static float relative(double seconds, double reference);
  // In log seconds. What is forecast is relative to it. REQUIRES: one was taken.
  [[nodiscard]] double reference() const { return reference_; }

 private:
  double ahead_;
  bool begun_ = false;
  double reference_ = 0.0;
  std::vector<double> logs_;  // In hand.
};

}  // namespace outpace::runtime_model
