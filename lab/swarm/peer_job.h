// One random job without a server: ring or gossip, options, runtimes and faults, drawn from a seed.
// As random_job.h draws those with one.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peers/options.h"

namespace outpace::swarm {

struct PeerPlan {
  std::uint64_t seed = 0;
  peers::Options options;  // Without faults.
  std::string runtime;
  std::vector<std::string> faults;
};

[[nodiscard]] PeerPlan draw_peer_plan(std::uint64_t seed);

// "pull", as --gossip takes it.
[[nodiscard]] const char* averaging_of(const PeerPlan& plan);
// The options of `outpace simulate`, as far as it has them.
[[nodiscard]] std::string to_words(const PeerPlan& plan);

}  // namespace outpace::swarm
