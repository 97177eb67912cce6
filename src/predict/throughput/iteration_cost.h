// The time of an iteration as a function of workers, nodes and batch, with a few coefficients.
//
//   T = (T_grad^g + T_sync^g)^(1/g),   1 <= g <= 10
//   T_grad(b) = c0 + c1 b + c2 b^2
//   T_sync(W, N) = 0 if W = 1, else  l0 + l1 h(W) if N = 1, else  n0 + n1 h(W)
//
// W workers on N nodes, b examples per worker. g says how much the two overlap: with g = 1 they
// follow each other, and as g -> infinity the longer hides the shorter. This, and the separate
// coefficients within a node and across nodes, come from the throughput model of Qiao et al.,
// "Pollux" (OSDI 2021), where h(W) = W - 2. Here
//
//   kLogarithmic  h(W) = log2 W      a tree's depth; the slowest of W with exponential tails
//   kSaturating   h(W) = (W - 1) / W what a ring sends: Patarasuk & Yuan, "Bandwidth optimal
//                                    all-reduce algorithms for clusters of workstations" (2009)
//   kLinear       h(W) = W - 1       a server's shared link; a ring's latencies
//
// T_grad has a quadratic term because some networks take more time than in proportion to their
// batch. All coefficients are at least 0, in seconds (per example, or per squared example), so that
// T never falls as W or b grows.

#pragma once

#include "throughput/configuration.h"

namespace outpace::throughput {

enum class Growth { kSaturating, kLogarithmic, kLinear };

// The coefficients of T_sync, on one node or across nodes.
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

// All in seconds. The policy and topology of the configuration are ignored: each has a cost of its
// own.
[[nodiscard]] double compute_seconds(const IterationCost& cost, double batch_per_worker);
[[nodiscard]] double sync_seconds(const IterationCost& cost, const Configuration& configuration);
[[nodiscard]] double iteration_seconds(const IterationCost& cost,
                                       const Configuration& configuration);

}  // namespace outpace::throughput
