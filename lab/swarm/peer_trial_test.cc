#include "swarm/peer_trial.h"

#include <gtest/gtest.h>

namespace outpace::swarm {
namespace {

TEST(PeerTrial, KeepsAllInvariants) {
  peer::Outcome::Counts sums;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const PeerOutcome outcome = run_peer_trial(draw_peer_plan(seed));
    EXPECT_FALSE(outcome.failure) << seed << ": " << outcome.failure->what << "\n"
                                  << report(draw_peer_plan(seed), *outcome.failure, "this");
    sums.crashed += outcome.result.counts.crashed;
    sums.silenced += outcome.result.counts.silenced;
    sums.connections += outcome.result.counts.connections;
    sums.caught_up += outcome.result.counts.caught_up;
    sums.broken_sums += outcome.result.counts.broken_sums;
  }
  // What the invariants are held to has come to pass.
  EXPECT_GT(sums.crashed, 50U);
  EXPECT_GT(sums.silenced, 10U);
  EXPECT_GT(sums.connections, 50U);
  EXPECT_GT(sums.caught_up, 5U);
  EXPECT_GT(sums.broken_sums, 20U);
}

TEST(PeerTrial, AReportHasWhatItTakesToRunItAgain) {
  const PeerPlan plan = draw_peer_plan(3);
  const std::string text =
      report(plan, {.invariant = "I20", .what = "I20: no", .last_events = {"one"}}, "abc");
  EXPECT_NE(text.find("seed 3 at commit abc"), std::string::npos);
  EXPECT_NE(text.find(to_words(plan)), std::string::npos);
  EXPECT_NE(text.find("  one\n"), std::string::npos);
}

}  // namespace
}  // namespace outpace::swarm
