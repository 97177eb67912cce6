#include "worker/inbox.h"

#include <optional>

#include <gtest/gtest.h>

namespace outpace::worker {
namespace {

protocol::Release release(std::uint64_t sequence) {
  return {.sequence = Sequence{sequence},
          .version = Version{0},
          .nominal = 32,
          .may_keep_part = false,
          .now = Time{},
          .ranges = {{0, 0, 32}}};
}

TEST(Inbox, HandsOutAReleaseOnce) {
  Inbox inbox;
  EXPECT_FALSE(inbox.take());
  inbox.receive(release(1));
  ASSERT_TRUE(inbox.take());
  EXPECT_FALSE(inbox.take());
}

TEST(Inbox, AppliesACancelToTheReleaseItNames) {
  Inbox inbox;
  inbox.receive(release(1));
  ASSERT_TRUE(inbox.take());
  inbox.receive(protocol::Cancel{Sequence{7}, false});
  EXPECT_EQ(inbox.cancelled(), CancelMode::kNone);
  inbox.receive(protocol::Cancel{Sequence{1}, true});
  EXPECT_EQ(inbox.cancelled(), CancelMode::kKeepPart);
  inbox.receive(release(2));
  ASSERT_TRUE(inbox.take());
  EXPECT_EQ(inbox.newest().sequence, Sequence{2});
  EXPECT_EQ(inbox.cancelled(), CancelMode::kNone);
}

TEST(Inbox, KeepsACancelThatComesBeforeItsReleaseIsTaken) {
  Inbox inbox;
  inbox.receive(release(1));
  inbox.receive(protocol::Cancel{Sequence{1}, false});
  ASSERT_TRUE(inbox.take());
  EXPECT_EQ(inbox.cancelled(), CancelMode::kAbandon);
}

TEST(Inbox, ForgetsTheVerdictOfAnOlderRelease) {
  Inbox inbox;
  inbox.receive(release(1));
  ASSERT_TRUE(inbox.take());
  inbox.receive(protocol::Verdict{Sequence{1}, protocol::Outcome::kAccepted, std::nullopt});
  ASSERT_TRUE(inbox.verdict().has_value());
  inbox.receive(release(2));
  ASSERT_TRUE(inbox.take());
  EXPECT_FALSE(inbox.verdict().has_value());
  inbox.receive(protocol::Verdict{Sequence{1}, protocol::Outcome::kDropped, "late"});
  EXPECT_FALSE(inbox.verdict().has_value());
}

TEST(MicroBatch, HalvesWhenThereWasNoPartAndGrowsBackSlowly) {
  MicroBatch micro(32);
  micro.had_no_part();
  micro.had_no_part();
  EXPECT_EQ(micro.size(), 8U);
  for (int time = 0; time < 7; ++time) {
    micro.was_whole();
  }
  EXPECT_EQ(micro.size(), 8U);
  micro.was_whole();
  EXPECT_EQ(micro.size(), 16U);
  for (int time = 0; time < 10; ++time) {
    micro.had_no_part();
  }
  EXPECT_EQ(micro.size(), 1U);
}

}  // namespace
}  // namespace outpace::worker
