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
