#include <gtest/gtest.h>

#include "watch/board.h"
#include "watch/rounds_test.h"

namespace outpace::watch {
namespace {

TEST(BoardGain, SaysInWordsWhatIsGained) {
  Rounds run;
  EXPECT_EQ(run.board.gain_in_words(), "");
  run.rounds(40);
  EXPECT_EQ(run.board.cut_off(), 1U);
  // The third is known to take longer than 100 ms, and no more: 20 examples in 100 ms, where all
  // three would have brought 30 in that time at best. Such a bound says nothing.
  EXPECT_FALSE(run.board.gain());
  EXPECT_EQ(run.board.gain_in_words(), "1 of 3 cut off now");
  for (int i = 0; i < 20; ++i) {  // Now it is measured.
    run.now += 1ms;
    run.tell(run.arrived(2, 400ms),
             {policy::Drop{WorkerId{2}, Sequence{1}, policy::Why::kAfterCutoff}});
  }
  run.rounds(60);  // This is the whole time that the gain looks back on.
  EXPECT_EQ(run.board.gain_in_words(), "1 of 3 cut off now; 2.7x waiting for all");
}

TEST(BoardGain, ClaimsNoGainOverAWorkerWhoseRuntimesAreOutOfDate) {
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

// Three workers whose runtimes vary, in rounds that take as long as the slowest.
std::string words_of(const About& about) {
  Rounds run(about);
  for (int i = 0; i < 60; ++i) {
    std::vector<Action> releases{policy::Commit{}};
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      run.now += 30ms;
      std::vector<Action> actions{policy::Accept{WorkerId{worker}, Sequence{1}, 1.0}};
      releases.push_back(policy::Release{WorkerId{worker}});
      if (worker == 2) {
        actions.insert(actions.end(), releases.begin(), releases.end());
      }
      run.tell(run.arrived(worker, (i % 3 == static_cast<int>(worker) ? 90ms : 40ms)), actions);
    }
    ++run.version;
  }
  EXPECT_EQ(run.board.gain().has_value(),
            !run.board.gain_in_words().empty() && run.board.gain_in_words().find("0 of 3") != 0);
  return run.board.gain_in_words();
}

TEST(BoardGain, ClaimsNoneWhereUpdatesWaitForAll) {
  EXPECT_EQ(words_of({.name = "sync", .workers = 3, .policy = "sync"}), "");
  EXPECT_EQ(words_of({.name = "ring", .stragglers = policy::Stragglers::kAwaited}), "");
  EXPECT_EQ(words_of({.name = "dynamic", .workers = 3, .policy = "dynamic"}), "0 of 3 cut off now");
}

TEST(BoardGain, SaysCutOffOnlyOfAPolicyThatCuts) {
  EXPECT_EQ(words_of({.name = "async", .policy = "async"}), "nobody waits; 1.0x waiting for all");
  EXPECT_EQ(words_of({.name = "ssp", .policy = "ssp:s=3"}), "1.0x waiting for all");
}

TEST(BoardGain, FollowsThePolicyInForce) {
  Rounds run(
      {.name = "sync", .workers = 3, .policy = "switch(sync until updates>9 then ksync:k=2)"});
  run.rounds(60);
  EXPECT_EQ(run.board.gain_in_words(), "");
  run.tell(policy::TimerFired{}, {policy::Switched{.to = 1}});
  EXPECT_TRUE(run.board.news().back().words.starts_with("the policy is ksync:k=2 from version "));
  EXPECT_EQ(run.board.gain_in_words(), "1 of 3 cut off now");
  run.tell(policy::PolicySet{.policy = "async"}, {});
  EXPECT_EQ(run.board.gain_in_words(), "1 of 3 cut off now");  // Not yet in force.
  run.tell(policy::TimerFired{}, {policy::Switched{.to = 0}});
  EXPECT_EQ(run.board.cut_off(), std::nullopt);
}

TEST(BoardGain, KnowsWhatIsAppliedOfLate) {
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
