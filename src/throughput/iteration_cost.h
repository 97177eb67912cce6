// How long an iteration takes on so many workers and nodes with such a batch: a few coefficients.
//
//   T = (T_grad^g + T_sync^g)^(1/g),   1 <= g <= 10
//   T_grad(b) = c0 + c1 b + c2 b^2
//   T_sync(W, N) = 0 if W = 1, else  l0 + l1 h(W) if N = 1, else  n0 + n1 h(W)
//
// W workers on N nodes, b examples a worker. The way the two add up, from g = 1 (one after the
// other) to g -> infinity (the shorter one hidden by the longer), and one pair of coefficients
// within a node and one across, are those of the throughput model of Qiao et al., "Pollux" (OSDI
// 2021), where h(W) = W - 2. Here
//
//   kLogarithmic  h(W) = log2 W      a tree's depth; the slowest of W with exponential tails
//   kSaturating   h(W) = (W - 1) / W what a ring sends: Patarasuk & Yuan, "Bandwidth optimal
//                                    all-reduce algorithms for clusters of workstations" (2009)
//   kLinear       h(W) = W - 1       a server's link that all share; a ring's latencies
//
// and T_grad has a square, as some networks take longer than in proportion to their batch. All
// coefficients are seconds (a batch of one example, or of its square) and at least 0, so that T
// never falls with W or b.

#pragma once

#include "throughput/configuration.h"

namespace outpace::throughput {

enum class Growth { kSaturating, kLogarithmic, kLinear };

// What T_sync is made of, on one node or across nodes.
struct SyncCost {
  double fixed = 0.0;   // l0, n0
  double growth = 0.0;  // l1, n1

  friend bool operator==(const SyncCost&, const SyncCost&) = default;
};

struct IterationCost {
  double compute_fixed = 0.0;    // c0
  double compute_example = 0.0;  // c1
  double compute_square = 0.0;   // c2
  Growth growth = Growth::kLogarithmic;
  SyncCost local;
  SyncCost across;
  double overlap = 1.0;  // g

  friend bool operator==(const IterationCost&, const IterationCost&) = default;
};

// h(W). REQUIRES: workers >= 1.
[[nodiscard]] double growth_of(Growth growth, double workers);

// In seconds. Policy and topology do not count: there is a cost for each.
[[nodiscard]] double compute_seconds(const IterationCost& cost, double batch_per_worker);
[[nodiscard]] double sync_seconds(const IterationCost& cost, const Configuration& configuration);
[[nodiscard]] double iteration_seconds(const IterationCost& cost,
                                       const Configuration& configuration);

}  // namespace outpace::throughput
