// How long the workers of a cluster compute: what coarse models know of it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace outpace::throughput {

// A while in which nobody's speed changes but by chance.
struct Period {
  std::vector<double> mean;                // Of each worker, seconds a mini-batch.
  std::vector<std::vector<double>> draws;  // Of all workers' at once.
};
using Computing = std::vector<Period>;

// Periods of equal weight. `draw(period, draw, worker)`: seconds, at least 0.
// REQUIRES: periods, draws and workers at least 1.
[[nodiscard]] Computing draw_computing(
    std::size_t periods,
    std::size_t draws,
    std::uint32_t workers,
    const std::function<double(std::size_t period, std::size_t draw, std::uint32_t worker)>& draw);

// The same with every deviation from the mean over all workers `part` as large; 1 changes nothing.
[[nodiscard]] Computing with_deviations(Computing computing, double part);
// The same, all of it `part` as long.
[[nodiscard]] Computing scaled(Computing computing, double part);

}  // namespace outpace::throughput
