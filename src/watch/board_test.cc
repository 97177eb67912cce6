#include "watch/board.h"

#include <cmath>

#include <gtest/gtest.h>

#include "watch/rounds_test.h"

namespace outpace::watch {
namespace {

TEST(Board, CountsWhatIsAppliedAndWhatIsLost) {
  Rounds run;
  run.rounds(40);
  const Point& sums = run.board.sums();
  EXPECT_EQ(sums.version, 40U);
  EXPECT_EQ(sums.gradients, 80U);
  EXPECT_EQ(sums.applied, 800U);
  EXPECT_EQ(sums.live, 3U);
  EXPECT_EQ(run.board.gradients_cancelled(), 40U);
  ASSERT_EQ(run.board.staleness().size(), 1U);
  EXPECT_EQ(run.board.staleness()[0], 80U);
  // Worker 0 waits 10 ms of every 100 and would have computed 10 examples in 90: 40 * 10 / 9 in
  // all, and most in the last point.
  EXPECT_NEAR(sums.waiting, 44.0, 7.0);
  EXPECT_EQ(run.board.decisions(), 3U + 3U * 40U);
  EXPECT_LE(run.board.told().size(), Board::kTold);
}

TEST(Board, SaysInWordsWhatIsGained) {
  Rounds run;
  EXPECT_EQ(run.board.gain_in_words(), "");
  run.rounds(40);
  EXPECT_EQ(run.board.cut_off(), 1U);
  // The third is known to take longer than 100 ms, and no more: 20 examples in 100 ms, where all
  // three would have brought 30 in that time at best.
  EXPECT_NEAR(run.board.gain().value(), 0.67, 0.01);
  EXPECT_EQ(run.board.gain_in_words(), "1 of 3 cut off now");
  for (int i = 0; i < 20; ++i) {  // Now it is measured.
    run.now += 1ms;
    run.tell(run.arrived(2, 400ms),
             {policy::Drop{WorkerId{2}, Sequence{1}, policy::Why::kAfterCutoff}});
  }
  run.rounds(60);  // Of the time that the gain looks back on, all.
  EXPECT_EQ(run.board.gain_in_words(), "1 of 3 cut off now; 2.7x waiting for all");
}

TEST(Board, ClaimsNoGainOverAWorkerWhoseRuntimesAreOutOfDate) {
  Rounds run;
  for (int i = 0; i < 20; ++i) {  // It was as fast as the others.
    run.now += 90ms;
    run.tell(run.arrived(2, 90ms),
             {policy::Drop{WorkerId{2}, Sequence{1}, policy::Why::kAfterCutoff}});
  }
  run.rounds(60);
  EXPECT_TRUE(run.board.workers()[2].longer());
  EXPECT_EQ(run.board.gain_in_words(), "1 of 3 cut off now");
}

TEST(Board, DoesNotShowTimersThatChangeNothing) {
  Rounds run;
  const std::uint64_t before = run.board.decisions();
  run.tell(policy::TimerFired{}, {policy::WakeAt{Time{1s}}});
  EXPECT_EQ(run.board.decisions(), before);
}

TEST(Board, RaisesAnAlarmForADeadWorkerAndEndsItWhenItIsBack) {
  Rounds run;
  run.rounds(2);
  run.tell(policy::WorkerLeft{WorkerId{1}, policy::Departure::kDead}, {});
  EXPECT_TRUE(run.board.alarms().is_on(AlarmKind::kDead, WorkerId{1}));
  EXPECT_EQ(run.board.sums().live, 2U);
  EXPECT_EQ(run.board.lanes().doing(WorkerId{1}), Doing::kGone);
  run.now += 1s;
  run.tell(policy::WorkerJoined{WorkerId{1}}, {policy::Release{WorkerId{1}}});
  EXPECT_TRUE(run.board.alarms().on().empty());
  EXPECT_EQ(run.board.restarts(), 1U);
  EXPECT_EQ(run.board.news().back().words, "worker 1 is back");
}

TEST(Board, RaisesAnAlarmForALossThatIsNotFiniteOrGrows) {
  Rounds run;
  run.board.look(Time{1s}, 2.0);
  run.board.look(Time{2s}, 0.5);
  run.board.look(Time{3s}, 1.5);
  EXPECT_TRUE(run.board.alarms().on().empty());
  run.board.look(Time{4s}, 4.0);
  EXPECT_TRUE(run.board.alarms().is_on(AlarmKind::kLoss, std::nullopt));
  run.board.look(Time{5s}, 0.6);
  EXPECT_TRUE(run.board.alarms().on().empty());
  run.board.look(Time{6s}, std::nan(""));
  EXPECT_TRUE(run.board.alarms().is_on(AlarmKind::kLoss, std::nullopt));
}

TEST(Board, RaisesAnAlarmForAFullDiskAndForAStaleGradient) {
  Rounds run({.name = "async", .workers = 3, .staleness_bound = 1});
  run.board.use(Time{1s}, {.disk_free_share = 0.01, .disk_free_bytes = 1 << 20});
  EXPECT_TRUE(run.board.alarms().is_on(AlarmKind::kDiskFull, std::nullopt));
  run.board.use(Time{2s}, {.disk_free_share = 0.5, .disk_free_bytes = 1 << 20});
  EXPECT_FALSE(run.board.alarms().is_on(AlarmKind::kDiskFull, std::nullopt));
  run.rounds(3);
  policy::GradientArrived late = run.arrived(2, 300ms);
  late.computed_on = Version{1};
  run.tell(late, {policy::Accept{WorkerId{2}, Sequence{1}, 1.0}, policy::Commit{}});
  EXPECT_TRUE(run.board.alarms().is_on(AlarmKind::kStale, WorkerId{2}));
}

TEST(Board, DoesNotEndAnAlarmOfStaleGradientsAtTheFirstFreshOne) {
  Rounds run({.name = "async", .workers = 3, .staleness_bound = 1});
  run.rounds(3);
  const auto applied = [&run](std::uint64_t computed_on) {
    policy::GradientArrived gradient = run.arrived(2, 300ms);
    gradient.computed_on = Version{computed_on};
    run.tell(gradient, {policy::Accept{WorkerId{2}, Sequence{1}, 1.0}});
  };
  for (int i = 0; i < 50; ++i) {
    applied(1);
    applied(3);
  }
  EXPECT_EQ(run.board.alarms().said(), 1U);
  for (int i = 0; i < 20; ++i) {
    applied(3);
  }
  EXPECT_EQ(run.board.alarms().said(), 2U);
  EXPECT_TRUE(run.board.alarms().on().empty());
}

TEST(Board, EndsAnAlarmOfTheLossBelowWhereItBegan) {
  Rounds run;
  run.board.look(Time{1s}, 2.0);
  run.board.look(Time{2s}, 1.0);
  for (int i = 0; i < 10; ++i) {
    run.board.look(Time{3s}, 2.9);
    run.board.look(Time{3s}, 3.1);
  }
  EXPECT_EQ(run.board.alarms().said(), 1U);
  run.board.look(Time{4s}, 2.6);
  EXPECT_TRUE(run.board.alarms().on().empty());
}

TEST(Board, RaisesNoAlarmForALossThatBeginsBelowZero) {
  Rounds run;
  run.board.look(Time{1s}, -1.0);
  run.board.look(Time{2s}, -0.5);
  EXPECT_TRUE(run.board.alarms().on().empty());
}

TEST(Board, KnowsWhatIsAppliedOfLate) {
  Rounds run;
  EXPECT_FALSE(run.board.rate());
  run.rounds(60);  // 20 examples in 100 ms.
  EXPECT_NEAR(run.board.rate().value(), 200.0, 1.0);
  EXPECT_NEAR(run.board.update_seconds().value(), 0.1, 1e-6);
  const double waiting = run.board.sums().waiting;
  run.board.look(run.now + 50s, std::nullopt);
  EXPECT_LT(run.board.rate().value(), 10.0);
  EXPECT_GE(run.board.sums().waiting, waiting);
}

}  // namespace
}  // namespace outpace::watch
