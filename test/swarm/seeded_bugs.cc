// Proves that the invariants find bugs: puts one in at a time, and runs the swarm until one of its
// invariants is broken. A bug that survives so many seeds fails the test, as does one that is found
// under another invariant than its own, and a failure without any bug.
//
// src/base/seeded_bug.h says how the bugs come into this program, and into no other.

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/seeded_bug.h"
#include "swarm/random_job.h"
#include "swarm/seed_run.h"

namespace outpace {

std::string_view seeded_bug;

namespace {

struct Bug {
  std::string_view name;
  std::string_view invariant;
};
constexpr std::array<Bug, 15> kBugs{{
    {"duplicate_applied", "I1"},   // A repeated push is taken up again.
    {"dropped_taken_up", "I1"},    // So is a gradient that the policy dropped.
    {"stale_round_counts", "I3"},  // A round takes a gradient of an older one.
    {"ssp_one_more", "I3"},        // The fastest is s + 1 iterations ahead.
    {"saps_one_more", "I3"},       // A gradient that is s + 1 versions old counts.
    {"lease_lost", "I5"},          // A dead worker's examples are never handed out again.
    {"dead_awaited", "I6"},        // An update waits for a worker that is dead.
    {"live_miscounted", "I6"},     // A worker that died counts as live.
    {"silence_overlooked", "I6"},  // A worker that is silent for too long stays live.
    {"fence_ignored", "I7"},       // The end of an old connection ends the new one.
    {"idle_forgotten", "I9"},      // A worker that had its gradient taken up is not released again.
    {"version_back", "I10"},       // A death takes an update back.
    {"broken_part_used", "I12"},   // The finite numbers of a gradient that is not finite count.
    {"hidden_state", "I14"},       // A run depends on those before it.
    {"cutoff_one_more", "I17"},    // An update waits for more than the live can give.
}};
constexpr std::uint64_t kSeedsMost = 1000;
constexpr std::uint64_t kSeedsWithout = 100;

// The first seed that fails by this invariant, or by any if it is empty, from 0 on; `seeds` if none
// does. A bug may show to another first, in a plan where nothing of its own is at stake.
std::uint64_t first_failure(std::uint64_t seeds,
                            std::string_view invariant,
                            swarm::Outcome& outcome) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    outcome = swarm::run_trial(swarm::draw_plan(seed));
    if (outcome.failure && (invariant.empty() || outcome.failure->invariant == invariant)) {
      return seed;
    }
  }
  return seeds;
}

bool is_found(const Bug& bug) {
  seeded_bug = bug.name;
  swarm::Outcome outcome;
  const std::uint64_t seed = first_failure(kSeedsMost, bug.invariant, outcome);
  // The seed alone brings the same failure back.
  const swarm::Outcome again = swarm::run_trial(swarm::draw_plan(seed));
  seeded_bug = "";
  const bool right = outcome.failure && outcome.failure->invariant == bug.invariant &&
                     again.failure && again.failure->what == outcome.failure->what;
  std::printf("%-20s %s after %3llu seeds: %s\n",
              std::string(bug.name).c_str(),
              right ? "found" : "NOT FOUND",
              static_cast<unsigned long long>(seed),
              outcome.failure ? outcome.failure->what.c_str() : "no failure");
  return right;
}

int run(std::string_view only) {
  swarm::Outcome outcome;
  const std::uint64_t seed = first_failure(kSeedsWithout, "", outcome);
  if (outcome.failure) {
    std::printf(
        "seed %d fails without a bug: %s\n", static_cast<int>(seed), outcome.failure->what.c_str());
    return 1;
  }
  bool all = true;
  for (const Bug& bug : kBugs) {
    all = (!only.empty() && only != bug.name) || is_found(bug) ? all : false;
  }
  return all ? 0 : 1;
}

}  // namespace
}  // namespace outpace

int main(int argc, char** argv) {
  return outpace::run(argc > 1 ? argv[1] : "");
}
