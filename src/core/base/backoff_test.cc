#include "base/backoff.h"

#include <gtest/gtest.h>

namespace outpace {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Backoff, DoublesTheWaitUpToASecondInTheFirstMinuteAndToFiveLater) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Backoff backoff(seed);
    Duration most = milliseconds(50);
    for (int tries = 0; tries < 20; ++tries) {
      const Duration wait = backoff.next(seconds(10));
      EXPECT_GE(wait, std::min<Duration>(most, seconds(1)) / 2);
      EXPECT_LE(wait, std::min<Duration>(most, seconds(1)));
      most *= 2;
    }
    const Duration later = backoff.next(minutes(2));
    EXPECT_GE(later, milliseconds(2500));
    EXPECT_LE(later, seconds(5));
  }
}

TEST(Backoff, SpreadsTheClientsOut) {
  Backoff one(1);
  Backoff other(2);
  EXPECT_NE(one.next({}), other.next({}));
}

}  // namespace
}  // namespace outpace
