// Fine models: every computation and transmission of a job, one by one.
//
// With a server it is the simulator (sim/cluster.h): the policy's own code, messages that share
// links, gradients that queue for the server. Without one, an iteration of a ring is gone through
// bucket by bucket: a bucket's exchange begins when every worker has its gradients and the bucket
// before it is through, so that it overlaps with the backward pass.

#pragma once

#include <cstdint>
#include <vector>

#include "sim/cluster.h"
#include "throughput/sampled_timing.h"

namespace outpace::throughput {

// Gradients that come to an update, a second; examples are rate x mini-batch if all are whole.
struct Rate {
  double examples_per_second;
  double low;  // Of a 95 % interval for the mean, by batches of the run.
  double high;
};

struct Served {
  Rate rate;
  // Of the whole run, for how much examples are worth (efficiency.h).
  double examples_an_update;
  double staleness;  // Of a gradient that is taken up, on average.
};

// Over how long workers' beginnings are spread, where no round holds them together.
struct Spread {
  double seconds = 0.0;  // At least 0.
  std::uint64_t seed = 1;
};

// Runs to the options' limits; the first fifth of what is taken up does not count. With a spread it
// is the mean of 4 to 32 runs, and the interval that of another run's rate: runs differ by how
// their workers happen to be in phase. REQUIRES: the limits let some fifty gradients be taken up.
[[nodiscard]] Served serve_by_events(const sim::ClusterOptions& options,
                                     const SampledTimingOptions& timing,
                                     const Spread& spread = {});

// When each worker begins in each of so many runs: the first one at 0, every other once in each
// part of the spread that there are runs (a Latin hypercube: McKay, Beckman & Conover, 1979), for
// it is how they are in phase to each other that counts. By run, then by worker; seconds.
[[nodiscard]] std::vector<std::vector<double>> beginnings(const Spread& spread,
                                                          std::size_t workers,
                                                          std::uint64_t runs);

struct RingOfEvents {
  DrawSeconds computing;            // Before a worker's factor.
  std::vector<double> factors;      // Of each worker.
  std::vector<worker::Pace> paces;  // Of each: it sleeps first, then computes.
  // Of each bucket in the order of the backward pass: the share of the computing after which its
  // gradients are there, and what passing its bytes once over a link takes.
  struct Bucket {
    double ready;
    double seconds;
  };
  std::vector<Bucket> buckets;  // The last is there when all is.
  double latency_seconds;       // Of a message to the neighbour.
  double fixed_seconds;         // Of an iteration, besides.
  std::uint32_t batch;
};
[[nodiscard]] Rate ring_rate_by_events(const RingOfEvents& ring, std::uint32_t iterations);

// Of a gossip: each worker computes and applies, and waits for nobody; `timing` says of how many
// processors they make do. REQUIRES: iterations, of each worker, at least 20.
[[nodiscard]] Rate gossip_rate_by_events(const SampledTimingOptions& timing,
                                         double apply_seconds,
                                         std::uint32_t batch,
                                         std::uint32_t iterations);

// Mean and 95 % interval of the rates in several spans of a run (Student's t with seven degrees of
// freedom). REQUIRES: eight rates.
[[nodiscard]] Rate of_spans(const std::vector<double>& rates);

}  // namespace outpace::throughput
