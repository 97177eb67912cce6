#include "watch/alarm_lines.h"

#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

Alarm slowness(std::uint32_t worker, bool over = false) {
  return {.kind = AlarmKind::kSlow,
          .worker = WorkerId{worker},
          .over = over,
          .words = name(WorkerId{worker}) + (over ? " has recovered" : " has become slow")};
}

TEST(AlarmLines, TellOfSlowWorkersOnceAMinute) {
  AlarmLines lines;
  EXPECT_EQ(lines.take(Time{5s}, {slowness(3)}), Lines{"alarm: worker 3 has become slow"});
  EXPECT_EQ(lines.take(Time{6s}, {slowness(3, true), slowness(4)}), Lines{});
  EXPECT_TRUE(lines.waits());
  EXPECT_EQ(lines.take(Time{64s}, {slowness(5)}), Lines{});
  EXPECT_EQ(
      lines.take(Time{65s}, {}),
      Lines{"alarm over: worker 3 has recovered; worker 4 has become slow; worker 5 has become "
            "slow"});
  EXPECT_FALSE(lines.waits());
}

TEST(AlarmLines, SayNothingOfWhatIsOverBeforeItIsTold) {
  AlarmLines lines;
  EXPECT_EQ(lines.take(Time{5s}, {slowness(0)}).size(), 1U);
  for (int second = 6; second < 600; ++second) {
    EXPECT_EQ(lines.take(Time{second * 1s}, {slowness(1), slowness(1, true)}), Lines{});
  }
}

TEST(AlarmLines, NameFourAndCountTheRest) {
  AlarmLines lines;
  EXPECT_EQ(
      lines.take(Time{5s},
                 {slowness(0), slowness(1), slowness(2), slowness(3), slowness(4), slowness(5)}),
      Lines{"alarm: worker 0 has become slow; worker 1 has become slow; worker 2 has become "
            "slow; worker 3 has become slow; and 2 more"});
}

TEST(AlarmLines, TellEveryOtherAlarmAtOnce) {
  AlarmLines lines;
  const Alarm dead{.kind = AlarmKind::kDead, .worker = WorkerId{1}, .words = "worker 1 is dead"};
  EXPECT_EQ(lines.take(Time{5s}, {slowness(3), dead, dead}),
            (Lines{"alarm: worker 1 is dead",
                   "alarm: worker 1 is dead",
                   "alarm: worker 3 has become slow"}));
}

}  // namespace
}  // namespace outpace::watch
