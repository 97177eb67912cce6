#include "swarm/invariant_checker.h"

#include <gtest/gtest.h>

#include "invariants/violation.h"

namespace outpace::swarm {
namespace {

TEST(InvariantChecker, RefusesARunThatEndedOtherwiseThanPlanned) {
  Plan plan{.seed = 1, .workers = 1, .policy = "async", .staleness = "none"};
  InvariantChecker checker(plan, /*keeps_events=*/false);
  EXPECT_NO_THROW(checker.ended({.code = ExitCode::kDone, .why = "seen enough"}));
  EXPECT_THROW(checker.ended({.code = ExitCode::kTooFewWorkers, .why = "too few workers"}),
               invariants::Violation);
  plan.epochs = 3;
  EXPECT_THROW(checker.ended({.code = ExitCode::kDone, .why = "seen enough"}),
               invariants::Violation);
}

TEST(InvariantChecker, KeepsTheLastEventsInWords) {
  const Plan plan{.seed = 1, .workers = 1, .policy = "async", .staleness = "none"};
  InvariantChecker checker(plan, /*keeps_events=*/true);
  checker.answered(
      Time{std::chrono::seconds(2)}, server::JoinInput{WorkerId{0}, 1}, server::Effects{});
  ASSERT_EQ(checker.last_events().size(), 1U);
  EXPECT_EQ(checker.last_events().front(),
            "2.000000 s  worker 0 joins as incarnation 1: 0 effects");
}

}  // namespace
}  // namespace outpace::swarm
