// The inputs of the deep runtime model for one iteration: seven numbers per worker. They are
// relative to the cluster's own level, so that what was learnt with one network holds for a slower
// one.
//
//   0  log seconds; of a worker that was cut off, log of the time it was given
//   1  1 if it was cut off: its runtime is longer
//   2  the median of (0) over the workers
//   3  the mean of (0) over the workers, each clamped to [-2, 3]
//   4  the share of workers that were cut off
//   5  (0) of the last earlier iteration in which it arrived; if it never has, of its first one
//   6  log(1 + iterations since then)
//
// Log seconds are relative to the reference, a level that slowly follows the iterations' medians. A
// recurrent network would have to count and remember (5) and (6) over hundreds of iterations, but
// it is fitted to sequences of a few dozen.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

inline constexpr std::uint32_t kDeepFeatures = 7;

class DeepFeatures {
 public:
  // `ahead`: error of the reference at the start, in log seconds. Training uses it, because it sees
  // short pieces of long runs.
  explicit DeepFeatures(double ahead = 0.0) : ahead_(ahead) {}

  // The features of an iteration, features x workers; those of a busy worker are 0. REQUIRES: not
  // all workers are busy.
  void take(std::span<const Observation> iteration, std::vector<float>& out);
  // A worker that was cut off in its last iteration has finished after all.
  void correct(std::uint32_t worker, double seconds);
  // Feature 0 of a runtime in seconds.
  [[nodiscard]] static float relative(double seconds, double reference);
  // In log seconds; forecasts are relative to it. REQUIRES: take() was called.
  [[nodiscard]] double reference() const { return reference_; }

  void keep(Archive& archive) { archive("begun", begun_)("reference", reference_)("last", last_); }

 private:
  double ahead_;
  bool begun_ = false;
  double reference_ = 0.0;
  struct Last {
    double log_seconds = 0.0;
    std::uint32_t since = 0;  // Iterations.
    bool known = false;

    void keep(Archive& archive) {
      archive("log_seconds", log_seconds)("since", since)("known", known);
    }
  };
  std::vector<Last> last_;    // By worker.
  std::vector<double> logs_;  // Scratch space.
};

}  // namespace outpace::runtime_model
