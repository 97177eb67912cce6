// One run of the swarm: a plan's cluster, held to all invariants after every event.
//
// First the faults (safety), then everything heals and all workers that live must come to the
// current version, and updates go on (liveness, I9). Now and then the whole run is made twice: its
// events and decisions must be the same (I14).

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/cluster.h"
#include "swarm/random_job.h"

namespace outpace::swarm {

// A run that recovered sooner goes on until it has had this many events.
inline constexpr std::uint64_t kEventsLeast = 1000;

struct Failure {
  std::string invariant;  // "I3".
  std::string what;       // With the invariant's number in front.
  std::vector<std::string> last_events;
};

struct Outcome {
  std::optional<Failure> failure;
  std::uint64_t events = 0;
  Duration simulated{};
  std::uint64_t updates = 0;
  std::uint64_t refused = 0;  // Gradients that were not finite.
  sim::FaultCounts faults;
};

// A function of the plan.
[[nodiscard]] Outcome run_trial(const Plan& plan);

// The command that runs this seed's trial again.
[[nodiscard]] std::string again(std::uint64_t seed);
// What it takes to find the cause: seed, commit, options, last events, and the command; lines.
[[nodiscard]] std::string report(const Plan& plan,
                                 const Failure& failure,
                                 const std::string& commit);

}  // namespace outpace::swarm
