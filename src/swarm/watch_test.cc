#include "swarm/watch.h"

#include <gtest/gtest.h>

#include "invariants/violation.h"

namespace outpace::swarm {
namespace {

TEST(Watch, RefusesARunThatEndedOtherwiseThanPlanned) {
  Plan plan{.seed = 1, .workers = 1, .policy = "async", .staleness = "none"};
  Watch watch(plan, /*keeps_events=*/false);
  EXPECT_NO_THROW(watch.ended({.code = ExitCode::kDone, .why = "seen enough"}));
  EXPECT_THROW(watch.ended({.code = ExitCode::kTooFewWorkers, .why = "too few workers"}),
               invariants::Violation);
  plan.epochs = 3;
  EXPECT_THROW(watch.ended({.code = ExitCode::kDone, .why = "seen enough"}), invariants::Violation);
}

TEST(Watch, KeepsTheLastEventsInWords) {
  const Plan plan{.seed = 1, .workers = 1, .policy = "async", .staleness = "none"};
  Watch watch(plan, /*keeps_events=*/true);
  watch.answered(
      Time{std::chrono::seconds(2)}, server::ToldJoin{WorkerId{0}, 1}, server::Effects{});
  ASSERT_EQ(watch.last_events().size(), 1U);
  EXPECT_EQ(watch.last_events().front(), "2.000000 s  worker 0 joins as incarnation 1: 0 effects");
}

}  // namespace
}  // namespace outpace::swarm
