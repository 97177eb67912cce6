// Coarse models: an iteration is a few phases, and a closed form says how often they are gone
// through.
//
// Li, Paolieri, Golubchik, Lin, Yan, "Predicting Throughput of Distributed Stochastic Gradient
// Descent" (IEEE TPDS 33(11), 2022), tell coarse models from fine ones; the equations here are
// textbook queueing (Lazowska et al., Quantitative System Performance, 1984).
//
// With a server, of W workers, in seconds:
//
//   C_w  computing          F  what an iteration takes besides, alone and overlapping with nothing
//   D    a gradient, or the weights, alone on the server's link      P  applying a gradient
//
//   a round of c gradients   T = F + W D + C_(c) + c D + c P
//     with heuristics        T = F + max over k <= c of (A_(k) + (c - k + 1)(D + P)), where worker
//                            w is done computing at A_w = w D + C_w if weights go out in turn, and
//                            at W D + C_w if they share the link: who is done early sends while
//                            others compute
//   nobody waits             X = min(W / (C + F + 2 D + P), 1 / max(D, P))
//     with heuristics        mean-value analysis of a closed network: link down, link up and
//                            applying are stations, the rest is delay
//   nobody gets far ahead    X = W x the slowest worker's rate of the above
//
// A ring of W workers (Patarasuk & Yuan, 2009): T = C_(W) + 2 (W - 1) a + 2 (W - 1) / W S / B;
// with heuristics the part of it that fits into the backward pass is hidden. Gossip exchanges
// weights off the critical path, and no gradient waits for it: X = sum of 1 / (C_w + P). A slow
// link makes meetings rarer, not gradients.
//
// What they ignore: that a straggler's cancelled gradient is partly sent, bounds that bind only now
// and then (ssp's s), correlation in time beyond the periods given, and processors that are shared.

#pragma once

#include <cstdint>

#include "throughput/barrier.h"
#include "throughput/computing.h"

namespace outpace::throughput {

struct ServedCluster {
  double fixed_seconds;     // F.
  double link_seconds;      // D, of all shards' links together; 0 without links.
  double own_link_seconds;  // The same of a worker's own link: at least this, however many shards.
  double apply_seconds;     // P, of all shards at once.
  double latency_seconds = 0.0;  // What of F is the links', both ways.
  bool in_turn = false;          // Weights for several workers go out one after another.
};

struct RingCluster {
  double fixed_seconds;
  double latency_seconds;  // a, of a message to the neighbour.
  double payload_seconds;  // S / B.
  double backward_share;   // Of the computing that comes after the first gradients are there.
};

enum class Heuristics : std::uint8_t { kWithout, kWith };

// Gradients a second that come to an update. REQUIRES: at least one period; all seconds are finite
// and at least 0, and an iteration takes some.
[[nodiscard]] double served_rate(const Barrier& barrier,
                                 const ServedCluster& cluster,
                                 const Computing& computing,
                                 Heuristics heuristics);
// The count of gradients that gives most of them a second, on average over periods: what dynamic
// is taken to find.
[[nodiscard]] double best_cutoff(const ServedCluster& cluster,
                                 const Computing& computing,
                                 Heuristics heuristics);
[[nodiscard]] double ring_rate(const RingCluster& cluster,
                               const Computing& computing,
                               Heuristics heuristics);
[[nodiscard]] double gossip_rate(const RingCluster& cluster, const Computing& computing);

// Mean-value analysis (Reiser & Lavenberg, 1980), each worker a class of its own (Schweitzer's
// approximation; exact for workers that are alike): the link down and up, each a station of
// `link_seconds`, shared or, down, served in order; a station of `apply_seconds` served in order;
// and a delay of each worker. The rate of each worker, a second.
[[nodiscard]] std::vector<double> closed_network_rates(const std::vector<double>& delays,
                                                       const ServedCluster& cluster);

}  // namespace outpace::throughput
