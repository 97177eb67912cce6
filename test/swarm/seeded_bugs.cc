// Proves that the invariants find bugs: turns one bug on at a time, and runs the swarm until the
// bug's invariant is broken. A bug that survives all seeds fails the test. So does a failure
// without any bug.
//
// The bugs are in seed_bugs.py, which puts them into copies of the sources for this program alone.

#include "seeded_bugs.h"

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "swarm/peer_job.h"
#include "swarm/peer_trial.h"
#include "swarm/random_job.h"
#include "swarm/seed_run.h"

namespace outpace {

std::string_view seeded_bug;

namespace {

constexpr std::uint64_t kSeedsMost = 1000;
constexpr std::uint64_t kSeedsWithout = 100;

// The seed's run with a server, or else the one without.
std::optional<swarm::Failure> failure_of(std::uint64_t seed) {
  const swarm::Outcome served = swarm::run_trial(swarm::draw_plan(seed));
  return served.failure ? served.failure
                        : swarm::run_peer_trial(swarm::draw_peer_plan(seed)).failure;
}

// The first seed that breaks this invariant, or any if it is empty; `seeds` if none does. A bug may
// break another invariant first, in a plan that cannot break its own.
std::uint64_t first_failure(std::uint64_t seeds,
                            std::string_view invariant,
                            std::optional<swarm::Failure>& failure) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    failure = failure_of(seed);
    if (failure && (invariant.empty() || failure->invariant == invariant)) {
      return seed;
    }
  }
  return seeds;
}

bool is_found(const SeededBug& bug) {
  seeded_bug = bug.name;
  std::optional<swarm::Failure> failure;
  const std::uint64_t seed = first_failure(kSeedsMost, bug.invariant, failure);
  // The seed alone brings the same failure back.
  const std::optional<swarm::Failure> again = failure_of(seed);
  seeded_bug = "";
  const bool right =
      failure && failure->invariant == bug.invariant && again && again->what == failure->what;
  std::printf("%-20s %s after %3llu seeds: %s\n",
              std::string(bug.name).c_str(),
              right ? "found" : "NOT FOUND",
              static_cast<unsigned long long>(seed),
              failure ? failure->what.c_str() : "no failure");
  return right;
}

int run(std::string_view only) {
  std::optional<swarm::Failure> failure;
  const std::uint64_t seed = first_failure(kSeedsWithout, "", failure);
  if (failure) {
    std::printf("seed %d fails without a bug: %s\n", static_cast<int>(seed), failure->what.c_str());
    return 1;
  }
  bool all = true;
  for (const SeededBug& bug : kSeededBugs) {
    all = (!only.empty() && only != bug.name) || is_found(bug) ? all : false;
  }
  return all ? 0 : 1;
}

}  // namespace
}  // namespace outpace

int main(int argc, char** argv) {
  return outpace::run(argc > 1 ? argv[1] : "");
}
