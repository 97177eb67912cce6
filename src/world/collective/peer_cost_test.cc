#include "collective/peer_cost.h"

#include <gtest/gtest.h>

namespace outpace::collective {
namespace {

TEST(PeerCost, AByteCostsMuchLessThanAMessage) {
  const PeerCost cost = measure_peer_cost(100'000, 20);
  EXPECT_GT(cost.message_seconds, 0.0);
  EXPECT_GE(cost.byte_seconds, 0.0);
  EXPECT_LT(cost.byte_seconds, cost.message_seconds);
  EXPECT_GT(cost.meeting_message_seconds, 0.0);
  EXPECT_LT(cost.byte_seconds, cost.meeting_message_seconds);
}

}  // namespace
}  // namespace outpace::collective
