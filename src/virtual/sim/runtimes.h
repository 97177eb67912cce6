// How long every worker takes for a full mini-batch: what --runtime says.
//
//   runtimes := class { ',' class }
//   class    := [ count '*' ] distribution       as in distribution_catalogue.h
//
// "28*lognormal(mean=100ms,cv=0.2),2*lognormal(mean=400ms,cv=0.2)": workers 0 to 27 are of the
// first class, 28 and 29 of the second. One class may leave its count out and takes the rest.
//
// A runtime is a pure function of (seed, worker, iteration, start). Workers have no state, and one
// worker cannot change the runtimes of another. Two runs with the same seed have the same runtimes,
// whatever their policies do (by time: at the same times).

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "sim/distribution.h"
#include "sim/distribution_catalogue.h"

namespace outpace::sim {

class Runtimes {
 public:
  // Every runtime is at least the clock's grain, so that a run without other delays ends, and at
  // most three years, so that the clock does not overflow.
  static constexpr double kSecondsMin = 1e-9;
  static constexpr double kSecondsMax = 1e8;

  struct Class {
    std::uint32_t workers;
    std::unique_ptr<const Distribution> distribution;
  };
  struct Options {
    std::uint32_t workers;  // At least 1.
    std::uint64_t seed;
    ReadFile read_file;  // For replay().
  };

  // Throws a usage error on anything wrong, also if the counts are not those of the workers.
  static Runtimes parse(std::string_view text, const Options& options);

  // Worker's runtime of a mini-batch begun at `start`, in seconds. REQUIRES: the worker is below
  // workers(), start >= 0.
  [[nodiscard]] double at(WorkerId worker, std::uint64_t iteration, Time start) const;

  [[nodiscard]] std::uint32_t workers() const { return ends_.back(); }
  // In the order of the workers; for predictions.
  [[nodiscard]] std::span<const Class> classes() const { return classes_; }

 private:
  Runtimes(std::vector<Class> classes, std::uint64_t seed);

  // Constant after construction.
  std::vector<Class> classes_;
  std::vector<std::uint32_t> ends_;   // The first worker behind each class.
  std::vector<std::uint64_t> seeds_;  // By class: each has machines of its own.
};

}  // namespace outpace::sim
