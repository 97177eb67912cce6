#include "peer/gossip.h"

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

std::uint32_t draw_one() {
  return 1;
}

TEST(PeerGossip, AWantedMeetingBeginsWithTheNextGroup) {
  Gossip worker(Averaging::kCoupled, 1);
  EXPECT_EQ(worker.begin_gradient(draw_one), Actions{});
  EXPECT_TRUE(worker.waits());
  EXPECT_EQ(worker.join({.rank = 0}, draw_one).size(), 3U);
  worker.leave();
  EXPECT_TRUE(worker.quiet());
  EXPECT_EQ(worker.join({.rank = 0}, draw_one).size(), 3U);
  EXPECT_EQ(worker.meetings(), 0U);
}

TEST(PeerGossip, AnInvitationWaitsForTheMeetingThatIsOpen) {
  Gossip worker(Averaging::kCoupled, 1);
  (void)worker.join({.rank = 0}, draw_one);
  (void)worker.begin_gradient(draw_one);
  EXPECT_EQ(worker.knock({3, Say::kInvite}, draw_one), (Actions{Invited{3}}));
  const Actions then = worker.came({1, Say::kAnswer}, draw_one);
  ASSERT_EQ(then.size(), 4U);
  EXPECT_EQ(then[1], (Action{Send{3, Say::kAsk, /*invited=*/true}}));
  EXPECT_FALSE(worker.waits());
  EXPECT_FALSE(worker.quiet());
}

TEST(PeerGossip, OnlyEveryNthGradientAverages) {
  Gossip worker(Averaging::kPull, 2);
  (void)worker.join({.rank = 0}, draw_one);
  EXPECT_FALSE(worker.begin_gradient(draw_one).empty());
  (void)worker.came({1, Say::kReply}, draw_one);
  EXPECT_TRUE(worker.begin_gradient(draw_one).empty());
  EXPECT_FALSE(worker.waits());
  EXPECT_EQ(worker.gradients(), 2U);
  EXPECT_EQ(worker.meetings(), 1U);
}

}  // namespace
}  // namespace outpace::peer
