// A calibrated profile. Per policy and topology it has the cost of an iteration, its uncertainty,
// and the measured range, so that a prediction can say where it extrapolates.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "throughput/iteration_cost.h"

namespace outpace::throughput {

// The range that was measured. 0 workers: no such row.
struct Seen {
  std::uint32_t workers_min = 0;
  std::uint32_t workers_max = 0;
  std::uint32_t local_workers_max = 0;   // Among rows with several workers on one node.
  std::uint32_t across_workers_max = 0;  // Among rows with several nodes.
  std::uint32_t workers_per_node_max = 0;
  double batch_min = 0.0;
  double batch_max = 0.0;

  friend bool operator==(const Seen&, const Seen&) = default;
};

// Errors of predicting the largest numbers of workers after leaving them out.
struct HeldOut {
  std::size_t rows = 0;
  double median = 0.0;  // The median of exp|log(predicted / measured)| - 1, either way.
  double ninety = 0.0;  // Its 90th percentile.

  friend bool operator==(const HeldOut&, const HeldOut&) = default;
};

struct CalibratedGroup {
  std::string policy;  // Empty if the table did not say.
  std::string topology;
  std::size_t rows = 0;
  IterationCost cost;
  // The other laws of growth that the rows do not rule out; the interval covers them.
  std::vector<IterationCost> others;
  double spread = 0.0;      // In log T: 9 in 10 measurements lie within it if the law is right.
  double fit_median = 0.0;  // As HeldOut::median, over the fitted rows.
  std::optional<HeldOut> held_out;
  Seen seen;

  friend bool operator==(const CalibratedGroup&, const CalibratedGroup&) = default;
};

struct CalibratedProfile {
  std::vector<CalibratedGroup> groups;

  friend bool operator==(const CalibratedProfile&, const CalibratedProfile&) = default;
};

}  // namespace outpace::throughput
