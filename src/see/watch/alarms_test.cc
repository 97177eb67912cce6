#include "watch/alarms.h"

#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

Alarm slow(std::uint32_t worker) {
  return {.kind = AlarmKind::kSlow, .worker = WorkerId{worker}, .words = "slow"};
}

TEST(Alarms, AreSaidOnceWhenTheyBeginAndOnceWhenTheyAreOver) {
  Alarms alarms;
  alarms.begin(slow(1));
  alarms.begin(slow(1));
  alarms.begin(slow(2));
  EXPECT_TRUE(alarms.is_on(AlarmKind::kSlow, WorkerId{1}));
  EXPECT_FALSE(alarms.is_on(AlarmKind::kDead, WorkerId{1}));
  EXPECT_EQ(alarms.take_new().size(), 2U);
  alarms.end(slow(1));
  alarms.end(slow(1));
  ASSERT_TRUE(alarms.has_new());
  const auto said = alarms.take_new();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said.front().over);
  EXPECT_FALSE(alarms.has_new());
  EXPECT_EQ(alarms.on().size(), 1U);
  EXPECT_EQ(alarms.begun(AlarmKind::kSlow), 2U);
  EXPECT_EQ(alarms.said(), 3U);
}

TEST(Alarms, KeepTheNewest) {
  Alarms alarms;
  for (std::uint32_t worker = 0; worker < 300; ++worker) {
    alarms.begin(slow(worker));
  }
  EXPECT_EQ(alarms.log().size(), Alarms::kLogged);
  EXPECT_EQ(alarms.log().back().worker, WorkerId{299});
  EXPECT_EQ(alarms.said(), 300U);
}

TEST(Alarms, HaveAWordForEachKind) {
  for (const AlarmKind kind : kAlarmKinds) {
    EXPECT_STRNE(to_text(kind), "");
  }
}

}  // namespace
}  // namespace outpace::watch
