// One random job of the swarm: policy, options, runtimes and faults, all drawn from a seed.
//
// Swarm testing (Groce et al., "Swarm Testing", ISSTA 2012): each plan first draws which kinds of
// faults and which features it has at all, so that none is drowned by the others. Everything has
// the form that `outpace simulate` reads.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace outpace::swarm {

struct Plan {
  std::uint64_t seed = 0;
  std::uint32_t workers = 1;
  std::string policy;
  bool balance = false;
  bool steps_ahead = false;       // While a push travels; with local steps.
  std::uint32_t local_steps = 0;  // Mini-batches of a phase; 0: none, each is pushed.
  std::string staleness;
  std::string runtime;
  std::uint32_t batch = 1;
  std::uint64_t examples = 1;
  std::uint64_t epochs = 0;  // 0: the run goes on until all workers have recovered.
  bool with_replacement = false;
  Duration latency{};
  Duration apply{};
  Duration heartbeat_timeout{};
  std::optional<Duration> progress_timeout;  // Nothing: by the workers' runtimes.
  bool ledger = false;                       // Gradients have numbers, and the weights are audited.
  std::uint64_t broken_every = 0;            // One gradient in this many is not finite; 0: none.
  std::vector<std::string> faults;
  std::uint64_t checkpoint_every = 0;  // Updates; 0: no server dies.
  Time healed{};                       // No fault has any effect from here on.
  Duration recovery{};                 // By this long after `healed` all must be well.
  std::vector<std::uint32_t> leavers;  // Workers that leave or crash for good.
};

[[nodiscard]] Plan draw_plan(std::uint64_t seed);

// Every option, in the words of the command line as far as it has them.
[[nodiscard]] std::string to_words(const Plan& plan);

}  // namespace outpace::swarm
