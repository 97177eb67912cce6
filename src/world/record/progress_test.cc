#include "record/progress.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace outpace::record {
namespace {

Status example() {
  return {.seconds = 12.3,
          .updates = 1234,
          .target_updates = std::nullopt,
          .examples = 126'000,
          .epochs = 2.1,
          .training_loss = 0.412,
          .accuracy = 0.841,
          .examples_per_second = 7220.2,
          .live = 8,
          .workers = 8,
          .staleness_mean = 6.9,
          .dropped = 12,
          .slow = {"worker 6 (4.0x)", "worker 7 (2.1x)"}};
}

TEST(ProgressLine, SaysAllThatATerminalHasRoomFor) {
  EXPECT_EQ(progress_line(example(), 200),
            "12.3s  update 1,234  epoch 2.1  loss 0.412  accuracy 84.1%  7,220 ex/s  live 8/8  "
            "stale 6.9  dropped 12  slow: worker 6 (4.0x), worker 7 (2.1x)");
}

TEST(ProgressLine, SaysInWordsWhatIsGained) {
  Status status = example();
  status.gain = "2 of 8 cut off now; 1.9x waiting for all";
  EXPECT_NE(progress_line(status, 200).find("  2 of 8 cut off now; 1.9x waiting for all  slow: "),
            std::string::npos);
  EXPECT_EQ(progress_line(status, 80).find("cut off"), std::string::npos);
}

TEST(ProgressLine, LeavesOutWhatIsNotKnown) {
  Status status = example();
  status.training_loss.reset();
  status.accuracy.reset();
  status.slow.clear();
  status.target_updates = 5000;
  EXPECT_EQ(progress_line(status, 200),
            "12.3s  update 1,234/5,000  epoch 2.1  7,220 ex/s  live 8/8  stale 6.9  dropped 12");
}

TEST(ProgressLine, StillNamesTheSlowestOnEightyColumns) {
  EXPECT_EQ(progress_line(example(), 80),
            "12.3s  update 1,234  loss 0.412  accuracy 84.1%  slow: worker 6 (4.0x) +1");
}

TEST(ProgressLine, IsNeverWiderThanAsked) {
  for (std::size_t width = 0; width <= 200; ++width) {
    EXPECT_LE(progress_line(example(), width).size(), width);
  }
  EXPECT_EQ(progress_line(example(), 21), "12.3s  update 1,234");
  EXPECT_EQ(progress_line(example(), 3), "12.");
}

TEST(ProgressLine, NamesTheStalled) {
  Status status = example();
  status.live = 7;
  status.slow.clear();
  status.stalled = {"worker 3"};
  EXPECT_EQ(progress_line(status, 80),
            "12.3s  update 1,234  loss 0.412  accuracy 84.1%  live 7/8  stalled: worker 3");
}

TEST(ProgressLine, CountsTheSlowBeyondThree) {
  Status status = example();
  status.slow = {"worker 1 (9.0x)",
                 "worker 2 (8.0x)",
                 "worker 3 (7.0x)",
                 "worker 4 (6.0x)",
                 "worker 5 (5.0x)"};
  const std::string line = progress_line(status, 200);
  EXPECT_TRUE(line.ends_with("slow: worker 1 (9.0x), worker 2 (8.0x), worker 3 (7.0x) +2")) << line;
}

TEST(ProgressLine, NamesMissingWorkersOnANarrowTerminal) {
  Status status = example();
  status.live = 7;
  EXPECT_NE(progress_line(status, 60).find("live 7/8"), std::string::npos);
}

TEST(ProgressLine, ShowsADashForALossThatDiverged) {
  Status status = example();
  status.training_loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(progress_line(status, 200).find("loss -"), std::string::npos);
}

}  // namespace
}  // namespace outpace::record
