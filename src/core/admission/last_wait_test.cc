#include "admission/last_wait.h"

#include <gtest/gtest.h>

namespace outpace::admission {
namespace {

using std::chrono::seconds;

constexpr Time kTrained{seconds(100)};

TEST(LastWait, ARunThatMeasuresNothingEndsAtOnce) {
  const LastWait wait = last_wait(kTrained, {.trained = kTrained});
  EXPECT_FALSE(wait.until.has_value());
  EXPECT_EQ(wait.warning, "");
}

TEST(LastWait, AnEvaluatorHasAMinuteForTheFinalWeights) {
  const RunEnd end{.trained = kTrained, .measures = true};
  EXPECT_EQ(last_wait(kTrained, end).until, kTrained + seconds(60));
  const LastWait over = last_wait(kTrained + seconds(60), end);
  EXPECT_FALSE(over.until.has_value());
  EXPECT_EQ(over.warning,
            "the evaluator has not measured the last weights in 60 s: their accuracy is unknown");
}

TEST(LastWait, AnInterruptedRunWaitsTenSeconds) {
  const RunEnd end{.trained = kTrained, .interrupted = true, .measures = true};
  EXPECT_EQ(last_wait(kTrained, end).until, kTrained + seconds(10));
  EXPECT_EQ(last_wait(kTrained + seconds(10), end).warning,
            "the evaluator has not measured the last weights in 10 s: their accuracy is unknown");
}

TEST(LastWait, ASecondStopEndsTheWait) {
  const LastWait wait =
      last_wait(kTrained, {.trained = kTrained, .hurries = true, .measures = true});
  EXPECT_FALSE(wait.until.has_value());
  EXPECT_EQ(wait.warning, "the last weights are not measured");
}

TEST(LastWait, AScriptHasFiveSecondsToAskForAnEvaluator) {
  const RunEnd end{.trained = kTrained, .may_ask = true};
  EXPECT_EQ(last_wait(kTrained, end).until, kTrained + seconds(5));
  const LastWait over = last_wait(kTrained + seconds(5), end);
  EXPECT_FALSE(over.until.has_value());
  EXPECT_EQ(over.warning, "");
}

TEST(LastWait, AnEvaluatorThatWasAskedForLateHasItsMinuteFromThen) {
  const RunEnd end{.trained = kTrained, .measures = true, .asked_at = kTrained + seconds(4)};
  EXPECT_EQ(last_wait(kTrained + seconds(4), end).until, kTrained + seconds(64));
}

}  // namespace
}  // namespace outpace::admission
