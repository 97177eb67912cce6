// One run of a plan without a server, held to the invariants after every event. As seed_run.h has
// those with a server.

#pragma once

#include <optional>
#include <string>

#include "peer/outcome.h"
#include "swarm/peer_job.h"
#include "swarm/seed_run.h"

namespace outpace::swarm {

struct PeerOutcome {
  std::optional<Failure> failure;
  peer::Outcome result;  // Unless it failed.
};

// A function of the plan.
[[nodiscard]] PeerOutcome run_peer_trial(const PeerPlan& plan);

// What it takes to find the cause: seed, commit, options, last events, and the command; lines.
[[nodiscard]] std::string report(const PeerPlan& plan,
                                 const Failure& failure,
                                 const std::string& commit);

}  // namespace outpace::swarm
