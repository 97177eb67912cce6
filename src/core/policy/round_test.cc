#include "policy/round.h"

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

constexpr WorkerId kFirst{0};
constexpr WorkerId kSecond{1};

GradientArrived gradient(WorkerId worker) {
  return {.worker = worker,
          .release = Sequence{1},
          .computed_on = Version{0},
          .examples = 32,
          .nominal = 32,
          .partial = false,
          .runtime = Duration{1}};
}

TEST(Round, IsHeldToTheOrderOfEvents) {
  Round round(2);
  Decision out;
  round.decide(Time{}, WorkerJoined{kFirst}, out);
  round.decide(Time{}, WorkerJoined{kSecond}, out);
  round.decide(Time{}, gradient(kFirst), out);
  EXPECT_DEATH(round.decide(Time{}, gradient(kFirst), out), "computing");
  EXPECT_DEATH(round.decide(Time{}, WorkerJoined{kFirst}, out), "live");
}

TEST(Round, IgnoresTheTimerAndMeasurements) {
  Round round(2);
  Decision out;
  round.decide(Time{}, WorkerJoined{kFirst}, out);
  round.decide(Time{}, TimerFired{}, out);
  EXPECT_TRUE(out.actions.empty());
  EXPECT_EQ(out.reason.why, Why::kNone);
  round.decide(
      Time{}, Measured{.what = Measure::kTrainingLoss, .value = 1.0, .version = Version{0}}, out);
  EXPECT_TRUE(out.actions.empty());
}

}  // namespace
}  // namespace outpace::policy
