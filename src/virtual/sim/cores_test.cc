#include "sim/cores.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::sim {
namespace {

using std::chrono::milliseconds;

Time at_ms(int ms) {
  return Time{milliseconds(ms)};
}

TEST(Cores, AreOnesOwnIfThereIsNoLimit) {
  Cores cores(0);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(cores.finish(at_ms(0), at_ms(5), milliseconds(3)), at_ms(8));
  }
}

TEST(Cores, AreWaitedFor) {
  Cores cores(2);
  EXPECT_EQ(cores.finish(at_ms(0), at_ms(5), milliseconds(3)), at_ms(8));
  EXPECT_EQ(cores.finish(at_ms(0), at_ms(5), milliseconds(4)), at_ms(9));
  EXPECT_EQ(cores.finish(at_ms(0), at_ms(6), milliseconds(3)), at_ms(11)) << "after the first";
  EXPECT_EQ(cores.finish(at_ms(0), at_ms(6), milliseconds(3)), at_ms(12)) << "after the second";
  EXPECT_EQ(cores.finish(at_ms(20), at_ms(20), milliseconds(3)), at_ms(23));
}

TEST(Cores, AreUsedBetweenOthersWhereThereIsRoom) {
  Cores cores(1);
  EXPECT_EQ(cores.finish(at_ms(0), at_ms(10), milliseconds(5)), at_ms(15));
  EXPECT_EQ(cores.finish(at_ms(0), at_ms(2), milliseconds(8)), at_ms(10)) << "just before";
  EXPECT_EQ(cores.finish(at_ms(0), at_ms(1), milliseconds(1)), at_ms(2));
  EXPECT_EQ(cores.finish(at_ms(0), at_ms(0), milliseconds(2)), at_ms(17))
      << "no room of 2 ms before";
}

TEST(Cores, AreFreeAgainFromWhenAComputationIsGivenUp) {
  Cores cores(1);
  EXPECT_EQ(cores.finish(at_ms(0), at_ms(10), milliseconds(10)), at_ms(20));
  cores.give_up(at_ms(5), at_ms(20), milliseconds(10));  // Before it began.
  EXPECT_EQ(cores.finish(at_ms(5), at_ms(10), milliseconds(10)), at_ms(20));
  EXPECT_EQ(cores.finish(at_ms(12), at_ms(12), milliseconds(2)), at_ms(22));
  cores.give_up(at_ms(14), at_ms(20), milliseconds(10));  // In its midst.
  EXPECT_EQ(cores.finish(at_ms(14), at_ms(14), milliseconds(6)), at_ms(20));
}

// At no time are more in use than there are, and nobody waits where one was free all the while.
TEST(Cores, AreNeverMoreThanThereAreNorIdleWhileSomebodyWaits) {
  constexpr std::uint32_t kCores = 3;
  Rng rng(5, 0);
  Cores cores(kCores);
  std::vector<std::pair<Time, Time>> taken;
  const auto in_use = [&taken](Time time) {
    return std::count_if(taken.begin(), taken.end(), [time](const auto& span) {
      return span.first <= time && time < span.second;
    });
  };
  Time now{};
  for (int i = 0; i < 1000; ++i) {
    now += milliseconds(rng.below(3));
    const Time ready = now + milliseconds(rng.below(30));
    const auto length = milliseconds(1 + rng.below(6));
    const Time done = cores.finish(now, ready, length);
    const Time begun = done - length;
    ASSERT_GE(begun, ready);
    if (begun > ready) {
      ASSERT_EQ(in_use(begun - milliseconds(1)), kCores);
    }
    taken.emplace_back(begun, done);
    for (Time time = begun; time < done; time += milliseconds(1)) {
      ASSERT_LE(in_use(time), kCores);
    }
  }
}

}  // namespace
}  // namespace outpace::sim
