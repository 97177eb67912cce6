#include "base/time.h"

#include <chrono>
#include <cmath>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace {
namespace {

TEST(FromSeconds, RoundsToTheNearestNanosecondAndHalvesAwayFromZero) {
  EXPECT_EQ(from_seconds(0.1), std::chrono::milliseconds(100));
  EXPECT_EQ(from_seconds(0.4e-9), Duration{0});
  EXPECT_EQ(from_seconds(-0.4e-9), Duration{0});
  EXPECT_EQ(from_seconds(2.5e-9), Duration{3});
  EXPECT_EQ(from_seconds(-2.5e-9), Duration{-3});
}

TEST(FromSeconds, IsWhatTheCLibraryMakesOfIt) {
  Rng rng(1, 0);
  for (int i = 0; i < 1'000'000; ++i) {
    // Numbers of every size, from far below a nanosecond to a hundred years.
    const double sign = rng.below(2) == 0 ? 1.0 : -1.0;
    const double seconds = sign * std::exp2(45.0 * rng.uniform() - 13.0) * rng.uniform();
    for (const double some : {seconds, seconds * 0x1p-32, std::round(2e9 * seconds) / 2e9}) {
      ASSERT_EQ(from_seconds(some).count(), std::llround(some * 1e9)) << some;
    }
  }
  // Half of one less the last bit: adding a half first would make it one.
  EXPECT_EQ(from_seconds(0x1.fffffffffffffp-2 / 1e9).count(),
            std::llround(0x1.fffffffffffffp-2 / 1e9 * 1e9));
}

}  // namespace
}  // namespace outpace
