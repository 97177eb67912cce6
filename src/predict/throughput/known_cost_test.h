// Tables that a known cost would give, for tests.

#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "throughput/iteration_cost.h"

namespace outpace::throughput {

inline constexpr IterationCost kKnownCost{.compute_fixed = 0.02,
                                          .compute_example = 0.001,
                                          .compute_square = 2e-6,
                                          .growth = Growth::kLogarithmic,
                                          .local = {.fixed = 0.01, .growth = 0.005},
                                          .across = {.fixed = 0.06, .growth = 0.03},
                                          .overlap = 2.0};

// As Pollux's tables are: one node, then several nodes with one and more workers each; workers and
// nodes up to 16, batches of 16 to 256.
inline std::vector<Row> known_rows(const IterationCost& cost) {
  std::vector<Row> rows;
  const std::pair<std::uint32_t, std::uint32_t> kPlaces[] = {
      {1, 1}, {2, 1}, {4, 1}, {4, 4}, {6, 6}, {8, 4}, {8, 8}, {12, 6}, {16, 8}, {16, 16}};
  for (const auto& [workers, nodes] : kPlaces) {
    for (const double batch : {16.0, 32.0, 64.0, 128.0, 256.0}) {
      Row row{.configuration = {.workers = workers, .nodes = nodes, .batch_per_worker = batch}};
      row.iteration_seconds = iteration_seconds(cost, row.configuration);
      rows.push_back(row);
    }
  }
  return rows;
}

// As if measured on machines that are up to 5 % faster or slower, always in the same way.
inline std::vector<Row> disturbed(std::vector<Row> rows) {
  double turn = 0.0;
  for (Row& row : rows) {
    turn += 2.399963;  // The golden angle: no period.
    *row.iteration_seconds *= 1.0 + 0.05 * std::sin(turn);
  }
  return rows;
}

}  // namespace outpace::throughput
