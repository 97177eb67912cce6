// Fine models: every computation and every transfer of a job, one by one.
//
// With a server this is the simulator (sim/cluster.h): the policy's own code, messages that share
// links, gradients that queue for the server. A ring is simulated bucket by bucket. The exchange of
// a bucket begins when every worker has its gradients and the bucket before it is done, so it
// overlaps with the backward pass. A gossip is in gossip_events.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cluster.h"
#include "sim/overlap.h"
#include "throughput/sampled_timing.h"

namespace outpace::throughput {

// The rate of examples whose gradients are accepted.
struct Rate {
  double examples_per_second;
  double low;  // 95 % confidence interval of the mean, by the method of batch means.
  double high;
};

struct Served {
  Rate rate;
  // Averages over the whole run, for the efficiency of examples (efficiency.h).
  double examples_an_update;
  // Over accepted gradients: the geometric mean of the mean and the most.
  double staleness;
};

// Random starting times of workers that no barrier synchronises.
struct Spread {
  double seconds = 0.0;  // Starting times are spread over this span; at least 0.
  double from = 0.0;     // The beginning of the span, seconds after the first release.
  std::uint64_t seed = 1;
};

// How often serve_by_events() runs: more often with fewer workers, which average less.
[[nodiscard]] std::uint64_t runs_of_spread(const Spread& spread, std::size_t workers);

// Runs to the limits of the options and discards the first fifth of the accepted gradients. With a
// spread, the rate is the mean of 4 to 32 runs and the interval is that of another run's rate,
// because runs differ by how their workers happen to be in phase. REQUIRES: the limits allow some
// fifty gradients to be accepted.
[[nodiscard]] Served serve_by_events(const sim::ClusterOptions& options,
                                     const SampledTimingOptions& timing,
                                     const Spread& spread = {});

// Runs to the limits of the options, which say where operations are told.
void perform_by_events(const sim::ClusterOptions& options, const SampledTimingOptions& timing);

// The starting times of the workers in each run, in seconds, by run and then by worker. The first
// worker starts at 0. Each other worker starts once in each of `runs` equal parts of the spread (a
// Latin hypercube: McKay, Beckman & Conover, 1979), because relative phase is what matters.
[[nodiscard]] std::vector<std::vector<double>> beginnings(const Spread& spread,
                                                          std::size_t workers,
                                                          std::uint64_t runs);

struct RingOfEvents {
  DrawSeconds computing;            // Before the factor of each worker.
  std::vector<double> factors;      // By worker.
  std::vector<worker::Pace> paces;  // By worker: it sleeps first, then computes.
  // The buckets, in the order of the backward pass. `ready` is the share of computing after which
  // the gradients of the bucket are complete; `seconds` is the time its bytes take over one link.
  struct Bucket {
    double ready;
    double seconds;
  };
  std::vector<Bucket> buckets;  // The last is there when all is.
  double latency_seconds;       // For a message to the neighbour.
  double fixed_seconds;         // For an iteration, in addition.
  std::uint32_t batch;
  // Told of each operation; a sum is what each worker sends, and a step is what it applies. May be
  // empty.
  sim::Performed performed = {};
};
[[nodiscard]] Rate ring_rate_by_events(const RingOfEvents& ring, std::uint32_t iterations);

inline constexpr std::size_t kSpansOfRun = 8;
// Mean and 95 % confidence interval of the rates in eight spans of a run (Student's t with seven
// degrees of freedom). REQUIRES: eight rates.
[[nodiscard]] Rate of_spans(const std::vector<double>& rates);

}  // namespace outpace::throughput
