#include "peer/coupled.h"

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

std::uint32_t draw_three() {
  return 3;
}

TEST(Coupled, OneThatAsksSendsItsWeightsWithTheQuestion) {
  Coupled asks(2, /*free=*/false);
  EXPECT_EQ(asks.begin({}, draw_three),
            (Actions{Send{3, Say::kAsk}, Send{3, Say::kOffer}, Await{3, Say::kAnswer}}));
  EXPECT_TRUE(asks.seeks());
  EXPECT_EQ(asks.came({3, Say::kAnswer}),
            (Actions{Average{How::kHalfway, 3, /*own=*/true, /*over=*/true}}));
  EXPECT_FALSE(asks.seeks());
}

TEST(Coupled, OneThatAnswersInvitesForAMeetingOfItsOwn) {
  Coupled answers(1, /*free=*/false);
  EXPECT_EQ(answers.begin({}, draw_three), (Actions{Send{3, Say::kInvite}}));
  EXPECT_FALSE(answers.seeks());
  EXPECT_EQ(answers.knock({4, Say::kAsk, /*invited=*/true}),
            (Actions{Send{4, Say::kAnswer}, Await{4, Say::kOffer}}));
  EXPECT_EQ(answers.came({4, Say::kOffer}),
            (Actions{Average{How::kHalfway, 4, /*own=*/true, /*over=*/true}}));
  EXPECT_EQ(Coupled(1, /*free=*/true).begin({}, draw_three), (Actions{Skip{}}));
}

TEST(Coupled, TwoThatAskAreAnsweredOneAfterTheOther) {
  Coupled answers(1, /*free=*/false);
  (void)answers.knock({4, Say::kAsk});
  EXPECT_EQ(answers.knock({2, Say::kAsk}), Actions{});
  EXPECT_EQ(answers.came({4, Say::kOffer}),
            (Actions{Average{How::kHalfway, 4}, Send{2, Say::kAnswer}, Await{2, Say::kOffer}}));
}

}  // namespace
}  // namespace outpace::peer
