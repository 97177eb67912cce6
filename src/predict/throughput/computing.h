// The computing times of a cluster's workers, as the coarse models use them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace outpace::throughput {

// A span of time in which speeds vary only by chance.
struct Period {
  std::vector<double> mean;                // By worker, in seconds per mini-batch.
  std::vector<std::vector<double>> draws;  // Joint draws of all workers' times, draws x workers.
};
using Computing = std::vector<Period>;

// Periods of equal weight. `draw(period, draw, worker)` returns seconds, at least 0. REQUIRES: at
// least one period, draw and worker.
[[nodiscard]] Computing draw_computing(
    std::size_t periods,
    std::size_t draws,
    std::uint32_t workers,
    const std::function<double(std::size_t period, std::size_t draw, std::uint32_t worker)>& draw);

// Multiplies every deviation from the mean over all workers by `part`; 1 changes nothing.
[[nodiscard]] Computing with_deviations(Computing computing, double part);
// Phases of that many mini-batches, one after another, take sums of draws at random, by the seed.
[[nodiscard]] Computing in_phases(const Computing& computing,
                                  std::uint32_t steps,
                                  std::uint64_t seed);
// Multiplies all times by `part`.
[[nodiscard]] Computing scaled(Computing computing, double part);

}  // namespace outpace::throughput
