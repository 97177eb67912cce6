#include "peer/turns.h"

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

TEST(Turns, AMeetingOfOnesOwnComesBeforeThoseOfOthers) {
  Turns turns;
  turns.connected();
  EXPECT_FALSE(turns.ready());
  turns.invited(3);
  turns.begin_gradient();
  EXPECT_EQ(turns.begin().invited_by, std::nullopt);
  EXPECT_EQ(turns.begin().invited_by, 3U);
  EXPECT_FALSE(turns.ready());
  turns.over(/*own=*/false);
  EXPECT_TRUE(turns.waits());
  turns.over(/*own=*/true);
  EXPECT_FALSE(turns.waits());
  EXPECT_EQ(turns.meetings(), 1U);
}

TEST(Turns, AGroupThatBreaksEndsNoMeeting) {
  Turns turns;
  turns.connected();
  turns.begin_gradient();
  (void)turns.begin();
  turns.invited(2);
  EXPECT_FALSE(turns.quiet());
  turns.disconnected();
  EXPECT_TRUE(turns.quiet());
  EXPECT_TRUE(turns.waits());
  turns.connected();
  EXPECT_EQ(turns.begin().invited_by, std::nullopt);
  EXPECT_FALSE(turns.ready());  // The invitation was to the last group.
}

TEST(Turns, AtTheEndOnlyOthersMeetingsBegin) {
  Turns turns;
  turns.connected();
  turns.begin_gradient();
  turns.end();
  EXPECT_FALSE(turns.ready());
  turns.invited(1);
  EXPECT_EQ(turns.begin().invited_by, 1U);
}

TEST(Turns, SayWhichGradientsAverageAndWait) {
  EXPECT_TRUE(begins_averaging(0, 10));
  EXPECT_FALSE(begins_averaging(9, 10));
  EXPECT_TRUE(begins_averaging(10, 10));
  EXPECT_FALSE(waits_for_averaging(Averaging::kFree));
  EXPECT_TRUE(waits_for_averaging(Averaging::kElastic));
}

}  // namespace
}  // namespace outpace::peer
