// Coarse models: an iteration is a few phases, and a closed form gives their rate.
//
// Li, Paolieri, Golubchik, Lin, Yan, "Predicting Throughput of Distributed Stochastic Gradient
// Descent" (IEEE TPDS 33(11), 2022), distinguish coarse models from fine ones. The equations here
// are textbook queueing (Lazowska et al., Quantitative System Performance, 1984).
//
// With a server and W workers, in seconds:
//
//   C_w  computing          F  the rest of an iteration that neither overlaps nor queues
//   D    a gradient, or the weights, alone on the server's link      P  applying a gradient
//        (D of each has its own share if they are packed)
//
//   a round of c gradients   T = F + W D + C_(c) + c D + c P
//     with heuristics        T = F + max over k <= c of (A_(k) + (c - k + 1)(D + P)), where worker
//                            w has computed at A_w = w D + C_w if weights go out one after another,
//                            and at W D + C_w if they share the link: early workers send while
//                            others still compute
//     restarting             as a round, with the c-th of all workers' successive mini-batches
//   no barrier               X = min(W / (C + F + 2 D + P), 1 / max(D, P))
//     with heuristics        mean-value analysis of a closed network: link down, link up and
//                            applying are stations, the rest is delay
//   k distinct workers, bounded staleness, late gradients
//                            the policy's own code decides for workers that each take C + the rest
//                            of an iteration without a barrier (policy_rate.h)
//   bounded staleness        at most W x the slowest worker's rate without a barrier
//
// A ring of W workers (Patarasuk & Yuan, 2009): T = C_(W) + 2 (W - 1) a + 2 (W - 1) / W S / B. With
// heuristics, it goes bucket by bucket, each from when its gradients are there. A free gossip
// exchanges weights off the critical path: X = sum of 1 / (C_w + P). In a coupled one each gradient
// takes a meeting of M = 2 g + S / B, g half of a meeting without weights, which begins with its
// computing: X = min(sum of 1 / (max(C_w, M) + P), pairs / M). gossip_rate() has the other ways to
// average.
//
// The models ignore: that a straggler's cancelled gradient is partly sent, correlation in time
// beyond the given periods, and shared processors. They do not know policies that change.

#pragma once

#include <cstdint>
#include <vector>

#include "job/gossip_options.h"
#include "throughput/barrier.h"
#include "throughput/computing.h"
#include "throughput/operations.h"

namespace outpace::throughput {

struct ServedCluster {
  double fixed_seconds;  // F.
  double link_seconds;   // D, over all shards' links together; 0 without links.
  // D over a worker's own link, which is a lower bound however many shards there are.
  double own_link_seconds;
  double apply_seconds;          // P, of all shards in parallel.
  double latency_seconds = 0.0;  // The links' part of F, both ways.
  bool in_turn = false;          // The weights for several workers go out one after another.
  // Bytes of packed gradients and weights, as shares of those that the link's seconds are of.
  double gradient_share = 1.0;
  double weights_share = 1.0;

  [[nodiscard]] double up_seconds() const { return gradient_share * link_seconds; }
  [[nodiscard]] double down_seconds() const { return weights_share * link_seconds; }
  [[nodiscard]] double own_up_seconds() const { return gradient_share * own_link_seconds; }
  [[nodiscard]] double own_down_seconds() const { return weights_share * own_link_seconds; }
};

struct RingCluster {
  double fixed_seconds;
  double latency_seconds;          // a, of a message of a sum to a neighbour.
  double meeting_message_seconds;  // The same of a gossip: half of a meeting without its weights.
  double payload_seconds;          // S / B.
  std::vector<BucketShare> buckets = {{.ready = 1.0, .bytes = 1.0}};  // At least one.
};

enum class Heuristics : std::uint8_t { kWithout, kWith };

// Accepted gradients per second. REQUIRES: the barrier is modelled; at least one period; all
// seconds are finite and at least 0, and an iteration takes some time.
[[nodiscard]] double served_rate(const Barrier& barrier,
                                 const ServedCluster& cluster,
                                 const Computing& computing,
                                 Heuristics heuristics);
// The cutoff with the highest rate of gradients, averaged over periods: what `dynamic` is assumed
// to find.
[[nodiscard]] double best_cutoff(const ServedCluster& cluster,
                                 const Computing& computing,
                                 Heuristics heuristics);
[[nodiscard]] double ring_rate(const RingCluster& cluster,
                               const Computing& computing,
                               Heuristics heuristics);
// A gossip's options, and the mean number of a worker's neighbours.
struct Gossiping {
  job::GossipOptions options;
  double neighbours = 1.0;
};
// How long two workers meet: one asks, then the payload goes over; both ways at once if both move.
// Elastic averaging: the weights go to the centre, and then the centre comes back.
[[nodiscard]] double meeting_seconds(const RingCluster& cluster, job::Averaging averaging);
// How much of its time a worker that answers, or is visited, is at meetings, if each of the workers
// that choose among `neighbours` of them is always at a meeting or waits for one. An arrival finds
// each other one there with a chance of 1 / neighbours, and half done if it is served. For many
// neighbours it is 2 - sqrt(2) (Karol, Hluchyj, Morgan, "Input versus output queueing on a
// space-division packet switch", 1987).
[[nodiscard]] double busy_share(double neighbours);
// Free: no gradient waits for a meeting. Otherwise the gradients that begin one wait for it.
// Coupled: each meeting occupies two workers. Pull and push: each occupies the link of the worker
// that is visited. Elastic: each occupies the worker with the centre. With heuristics, workers
// happen to choose the same one, and two workers that visit each other take turns.
[[nodiscard]] double gossip_rate(const RingCluster& cluster,
                                 const Computing& computing,
                                 const Gossiping& gossip,
                                 Heuristics heuristics);

// The rate of each worker, per second, by mean-value analysis (Reiser & Lavenberg, 1980). Each
// worker is a class of its own (Schweitzer's approximation; exact for equal workers). The stations
// are the link down and the link up, of their seconds, shared fairly or, down, first come,
// first served; applying, of `apply_seconds`, first come, first served; and a delay per worker.
[[nodiscard]] std::vector<double> closed_network_rates(const std::vector<double>& delays,
                                                       const ServedCluster& cluster);

}  // namespace outpace::throughput
