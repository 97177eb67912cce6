#include "policy/shrinking.h"

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

constexpr WorkerId kLastSlow{3};
constexpr bool kLate = true;

GradientArrived gradient(WorkerId worker, double seconds, std::uint32_t examples = 32) {
  return {.worker = worker,
          .release = Sequence{1},
          .computed_on = Version{0},
          .examples = examples,
          .nominal = 32,
          .partial = false,
          .runtime = from_seconds(seconds)};
}

// Three workers that take 1 s, and kLastSlow.
Shrinking cluster() {
  Shrinking shrinking;
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    shrinking.join(WorkerId{worker});
    shrinking.arrived(gradient(WorkerId{worker}, 1.0), !kLate);
  }
  shrinking.join(kLastSlow);
  return shrinking;
}

TEST(Shrinking, LeavesASlowWorkerAloneUntilItIsLate) {
  Shrinking shrinking = cluster();
  shrinking.arrived(gradient(kLastSlow, 8.0), !kLate);
  EXPECT_EQ(shrinking.share(kLastSlow), 1.0);
  shrinking.arrived(gradient(kLastSlow, 8.0), kLate);
  EXPECT_EQ(shrinking.share(kLastSlow), 1.0 / 8.0);
}

TEST(Shrinking, ScalesTheTimeToAFullMinibatch) {
  Shrinking shrinking = cluster();
  shrinking.arrived(gradient(kLastSlow, 4.0), kLate);
  shrinking.arrived(gradient(kLastSlow, 1.0, 8), !kLate);  // A quarter in 1 s.
  EXPECT_EQ(shrinking.share(kLastSlow), 1.0 / 4.0);
}

TEST(Shrinking, HalvesForEachFurtherLateAnswerDownToAFloor) {
  Shrinking shrinking = cluster();
  shrinking.arrived(gradient(kLastSlow, 4.0), kLate);
  shrinking.arrived(gradient(kLastSlow, 4.0), kLate);
  EXPECT_EQ(shrinking.share(kLastSlow), 1.0 / 8.0);
  for (int i = 0; i < 40; ++i) {
    shrinking.arrived(gradient(kLastSlow, 4.0), kLate);
  }
  EXPECT_EQ(shrinking.share(kLastSlow), 1.0 / 65536.0);
}

TEST(Shrinking, GivesAHalvingBackForEightAnswersInTime) {
  Shrinking shrinking = cluster();
  shrinking.arrived(gradient(kLastSlow, 4.0), kLate);
  shrinking.arrived(gradient(kLastSlow, 4.0), kLate);
  for (int i = 0; i < 7; ++i) {
    shrinking.arrived(gradient(kLastSlow, 4.0), !kLate);
  }
  EXPECT_EQ(shrinking.share(kLastSlow), 1.0 / 8.0);
  shrinking.arrived(gradient(kLastSlow, 4.0), !kLate);
  EXPECT_EQ(shrinking.share(kLastSlow), 1.0 / 4.0);
}

TEST(Shrinking, ForgetsItOnceTheWorkerIsAsFastAsTheOthers) {
  Shrinking shrinking = cluster();
  shrinking.arrived(gradient(kLastSlow, 4.0), kLate);
  shrinking.arrived(gradient(kLastSlow, 4.0), kLate);
  shrinking.arrived(gradient(kLastSlow, 1.5), !kLate);
  EXPECT_EQ(shrinking.share(kLastSlow), 1.0);
}

TEST(Shrinking, GoesByTheTimesOfTheLive) {
  Shrinking shrinking = cluster();
  shrinking.arrived(gradient(kLastSlow, 4.0), kLate);
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    shrinking.leave(WorkerId{worker});
  }
  EXPECT_EQ(shrinking.share(kLastSlow), 1.0);
}

}  // namespace
}  // namespace outpace::policy
