#include "watch/board.h"

#include <algorithm>
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

TEST(Board, KeepsDecisionsIfAsked) {
  Rounds run;
  run.rounds(1);
  EXPECT_TRUE(run.board.recent().empty());
  run.board.keep_decisions();
  run.rounds(2);
  ASSERT_EQ(run.board.recent().size(), 1U);
  EXPECT_EQ(run.board.recent()[0]->decided.size(), 6U);
  EXPECT_EQ(run.board.recent()[0]->decided[0].words, "because");
}

TEST(Board, SaysWhyARecordedRunChangesItsPolicy) {
  Rounds run;
  const std::string why =
      policy::to_words({.why = policy::Why::kMoreExpected, .a = 0.5, .b = 0.75});
  run.board.decided(run.now, policy::TimerFired{}, {}, {.reason = {}, .words = why});
  EXPECT_EQ(run.board.news().back().words, why);
  const std::uint64_t news = run.board.news().size();
  run.tell(policy::TimerFired{}, {});
  EXPECT_EQ(run.board.news().size(), news);
}

TEST(Board, DoesNotShowTimersThatChangeNothing) {
  Rounds run;
  const std::uint64_t before = run.board.decisions();
  run.tell(policy::TimerFired{}, {policy::WakeAt{Time{1s}}});
  EXPECT_EQ(run.board.decisions(), before);
}

// Worker 0 takes this long for a mini-batch, and the others 100 ms. Returns whether it is slow.
bool turn(Rounds& run, Duration runtime) {
  run.now += 20ms;
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    run.tell(run.arrived(worker, worker == 0 ? runtime : Duration(100ms)),
             {policy::Accept{WorkerId{worker}, Sequence{1}, 1.0},
              policy::Commit{},
              policy::Release{WorkerId{worker}}});
  }
  return run.board.slow().factor(WorkerId{0}) > 1.0;
}

TEST(Board, RaisesAnAlarmForAWorkerThatIsSlowForASecond) {
  Rounds run;
  const auto alarm = [&run] { return run.board.alarms().is_on(AlarmKind::kSlow, WorkerId{0}); };
  const auto until = [&run](bool slow, Duration runtime) {
    for (int turns = 0; turns < 1000 && turn(run, runtime) != slow; ++turns) {
    }
    ASSERT_EQ(run.board.slow().factor(WorkerId{0}) > 1.0, slow);
  };
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(turn(run, 100ms));
  }
  const std::uint64_t news = run.board.news().size();
  until(true, 400ms);
  until(false, 100ms);
  EXPECT_EQ(run.board.news().size(), news) << "a short one is not said";
  until(true, 400ms);
  const Time since = run.now;
  while (run.now < since + 960ms) {
    turn(run, 400ms);
    ASSERT_FALSE(alarm());
  }
  turn(run, 400ms);
  turn(run, 400ms);
  EXPECT_TRUE(alarm());
  EXPECT_TRUE(run.board.news().back().words.starts_with("worker 0 has become slow"));
  until(false, 100ms);
  EXPECT_FALSE(alarm());
  EXPECT_EQ(run.board.news().back().words, "worker 0 has recovered");
}

// A policy that cuts off shortly after the others never sees how slow a worker is.
TEST(Board, RaisesAnAlarmForAWorkerThatHasBecomeSlowAndIsAlwaysCutOff) {
  Rounds run;
  for (int i = 0; i < 100; ++i) {
    turn(run, 100ms);
  }
  for (int i = 0; i < 100; ++i) {
    run.now += 112ms;
    run.tell(run.arrived(1, 100ms),
             {policy::Accept{WorkerId{1}, Sequence{1}, 1.0},
              policy::Commit{},
              policy::Cancel{WorkerId{0}, false},
              policy::Release{WorkerId{1}}});
    run.tell(policy::ReleaseEnded{WorkerId{0}, Sequence{1}, policy::Ending::kAbandoned},
             {policy::Release{WorkerId{0}}});
  }
  ASSERT_TRUE(run.board.alarms().is_on(AlarmKind::kSlow, WorkerId{0}));
  EXPECT_EQ(run.board.news().back().words,
            "worker 0 has become slow: cut off 20 times in a row, which it was not before");
  for (int i = 0; i < 100; ++i) {
    turn(run, 100ms);
  }
  EXPECT_FALSE(run.board.alarms().is_on(AlarmKind::kSlow, WorkerId{0}));
}

// It may be the same process, whose connection broke.
TEST(Board, EndsTheAlarmForASlowWorkerThatJoinsAgain) {
  Rounds run;
  for (int i = 0; i < 100; ++i) {
    turn(run, 100ms);
  }
  const auto alarm = [&run] { return run.board.alarms().is_on(AlarmKind::kSlow, WorkerId{0}); };
  for (int turns = 0; turns < 1000 && !alarm(); ++turns) {
    turn(run, 400ms);
  }
  ASSERT_TRUE(alarm());
  run.tell(policy::WorkerLeft{WorkerId{0}, policy::Departure::kDead}, {});
  run.tell(policy::WorkerJoined{WorkerId{0}}, {policy::Release{WorkerId{0}}});
  EXPECT_FALSE(alarm());
  EXPECT_TRUE(std::ranges::any_of(run.board.alarms().log(), [](const Alarm& line) {
    return line.words == "worker 0 joined again: its past counts no longer";
  }));
}

// Its process may have outlived the server.
TEST(Board, EndsTheAlarmForASlowWorkerWhenAnotherServerGoesOn) {
  Rounds run;
  for (int i = 0; i < 100; ++i) {
    turn(run, 100ms);
  }
  for (int turns = 0; turns < 100; ++turns) {
    turn(run, 400ms);
  }
  ASSERT_TRUE(run.board.alarms().is_on(AlarmKind::kSlow, WorkerId{0}));
  run.board.goes_on(run.now, 150);
  EXPECT_FALSE(run.board.alarms().is_on(AlarmKind::kSlow, WorkerId{0}));
  EXPECT_EQ(run.board.alarms().log().back().words,
            "another server goes on: worker 0's past counts no longer");
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

TEST(Board, RaisesAnAlarmForBrokenConnectionsOfWorkersUntilTheyAreWhole) {
  Rounds run;
  run.board.links(Time{1s}, true, "broke");
  EXPECT_TRUE(run.board.alarms().is_on(AlarmKind::kLinks, std::nullopt));
  run.board.links(Time{2s}, false, "are whole again");
  EXPECT_TRUE(run.board.alarms().on().empty());
  EXPECT_EQ(run.board.alarms().log().back().words, "are whole again");
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

}  // namespace
}  // namespace outpace::watch
