#include "watch/change_point.h"

#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::watch {
namespace {

double noisy(Rng& rng, double seconds, double sigma) {
  return std::log(seconds) + sigma * rng.normal();
}

// Runtimes until the change is said; nothing within 500.
std::optional<int> delay(ChangePoint& test, Rng& rng, double seconds, Change wanted) {
  for (int i = 1; i <= 500; ++i) {
    if (test.see({.log_seconds = noisy(rng, seconds, 0.1)}) == wanted) {
      return i;
    }
  }
  return std::nullopt;
}

TEST(ChangePoint, FindsThatAWorkerHasBecomeSlowAndHasRecovered) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed, 0);
    ChangePoint test;
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(test.see({.log_seconds = noisy(rng, 0.1, 0.1)}), Change::kNone);
    }
    const auto slow = delay(test, rng, 0.2, Change::kSlow);
    ASSERT_TRUE(slow);
    EXPECT_LE(*slow, 20);
    EXPECT_NEAR(test.factor(), 2.0, 0.3);
    EXPECT_TRUE(test.slow());
    const auto recovered = delay(test, rng, 0.1, Change::kRecovered);
    ASSERT_TRUE(recovered);
    EXPECT_LE(*recovered, 20);
    EXPECT_EQ(test.factor(), 1.0);
  }
}

TEST(ChangePoint, TakesASinglePauseForNoChange) {
  Rng rng(1, 0);
  ChangePoint test;
  for (int i = 0; i < 1000; ++i) {
    const double seconds = i % 50 == 49 ? 100.0 : 0.1;
    ASSERT_EQ(test.see({.log_seconds = noisy(rng, seconds, 0.1)}), Change::kNone) << i;
  }
}

TEST(ChangePoint, SeesASlowWorkerThatIsAlwaysCutOff) {
  Rng rng(1, 0);
  ChangePoint test;
  for (int i = 0; i < 100; ++i) {
    (void)test.see({.log_seconds = noisy(rng, 0.1, 0.1)});
  }
  Change change = Change::kNone;
  int seen = 0;
  while (change == Change::kNone && seen < 100) {
    change = test.see({.log_seconds = std::log(0.12), .longer = true});
    ++seen;
  }
  EXPECT_EQ(change, Change::kSlow);
  EXPECT_LE(seen, 20);
}

TEST(ChangePoint, LearnsNothingFromMiniBatchesThatWereCutOffEarly) {
  Rng rng(1, 0);
  ChangePoint test;
  for (int i = 0; i < 100; ++i) {
    (void)test.see({.log_seconds = noisy(rng, 0.1, 0.1)});
  }
  for (int i = 0; i < 1000; ++i) {  // Long before it would have been done.
    ASSERT_EQ(test.see({.log_seconds = std::log(0.05), .longer = true}), Change::kNone);
  }
}

}  // namespace
}  // namespace outpace::watch
