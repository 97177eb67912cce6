#include "swarm/seed_run.h"

#include <gtest/gtest.h>

namespace outpace::swarm {
namespace {

TEST(Trial, OfEachOfTheFirstSeedsKeepsAllInvariants) {
  sim::FaultCounts faults;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Plan plan = draw_plan(seed);
    const Outcome outcome = run_trial(plan);
    ASSERT_FALSE(outcome.failure) << to_words(plan) << '\n' << outcome.failure->what;
    EXPECT_GE(outcome.events, kEventsLeast) << to_words(plan);
    faults.crashed += outcome.faults.crashed;
    faults.presumed_dead += outcome.faults.presumed_dead;
    faults.servers += outcome.faults.servers;
    faults.stalled += outcome.faults.stalled;
    faults.messages.lost += outcome.faults.messages.lost;
    faults.messages.duplicated += outcome.faults.messages.duplicated;
    refused += outcome.refused;
  }
  EXPECT_GT(faults.crashed, 10U);
  EXPECT_GT(faults.presumed_dead, 10U);
  EXPECT_GT(faults.servers, 10U);
  EXPECT_GT(faults.stalled, 10U);
  EXPECT_GT(faults.messages.lost, 10U);
  EXPECT_GT(faults.messages.duplicated, 100U);
  EXPECT_GT(refused, 10U);
}

TEST(Trial, IsAFunctionOfItsPlan) {
  const Plan plan = draw_plan(3);
  const Outcome once = run_trial(plan);
  const Outcome again = run_trial(plan);
  EXPECT_EQ(once.events, again.events);
  EXPECT_EQ(once.simulated, again.simulated);
  EXPECT_EQ(once.updates, again.updates);
}

TEST(Trial, ThatDoesNotRecoverFailsWithItsLastEvents) {
  Plan plan = draw_plan(3);
  plan.workers = 2;
  plan.policy = "sync";
  plan.runtime = "constant(1s)";
  plan.epochs = 0;
  plan.faults = {"crash:worker=1,at=10s"};
  plan.leavers = {};  // So it should come back, and will not.
  plan.healed = Time{std::chrono::seconds(20)};
  plan.recovery = std::chrono::seconds(60);
  const Outcome outcome = run_trial(plan);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->invariant, "I9");
  EXPECT_NE(outcome.failure->what.find("not well: worker 1"), std::string::npos)
      << outcome.failure->what;
  EXPECT_EQ(outcome.failure->last_events.size(), 20U);
  const std::string text = report(plan, *outcome.failure, "c0ffee");
  for (const std::string& part : {std::string("seed 3 at commit c0ffee\n"),
                                  to_words(plan),
                                  std::string("last events:\n  "),
                                  outcome.failure->last_events.back(),
                                  std::string("again: outpace-lab swarm --seeds 3\n")}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

}  // namespace
}  // namespace outpace::swarm
