#include "sim/runtime_replay.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "sim/sample_test.h"

namespace outpace::sim {
namespace {

constexpr const char* kTable =
    "# one row an iteration, one column a worker, seconds\n"
    "1,10\n"
    "2,20\n"
    "\n"
    "3,30\n";

Draw draw(std::uint32_t rank, std::uint64_t iteration, Duration start = Duration{0}) {
  return {.seed = 1,
          .worker = WorkerId{rank},
          .rank = rank,
          .iteration = iteration,
          .start = Time{start}};
}

TEST(Replay, ByIterationEachWorkerWalksDownItsColumnAndRowsWrap) {
  const Replay replay = Replay::parse(kTable, "r.csv", {});
  const std::vector<double> expected{1, 2, 3, 1};
  for (std::uint64_t iteration = 0; iteration < 4; ++iteration) {
    EXPECT_EQ(replay.draw(draw(0, iteration)), expected[iteration]);
    EXPECT_EQ(replay.draw(draw(1, iteration)), 10 * expected[iteration]);
  }
}

TEST(Replay, ByTimeTheRowIsThatOfTheStart) {
  using std::chrono::milliseconds;
  const Replay replay =
      Replay::parse(kTable, "r.csv", {.axis = Axis::kTime, .period = milliseconds(20)});
  EXPECT_EQ(replay.draw(draw(0, 77, milliseconds(0))), 1);
  EXPECT_EQ(replay.draw(draw(1, 77, milliseconds(0))), 10);
  EXPECT_EQ(replay.draw(draw(0, 0, milliseconds(20) - Duration{1})), 1);
  EXPECT_EQ(replay.draw(draw(0, 0, milliseconds(20))), 2);
  EXPECT_EQ(replay.draw(draw(0, 0, milliseconds(65))), 1);
}

TEST(Replay, WorkersBeyondTheColumnsAreCopiesThatBeginTogetherAtARandomRow) {
  const Replay replay = Replay::parse(kTable, "r.csv", {});
  std::set<double> begins;
  for (std::uint32_t copy = 1; copy < 50; ++copy) {
    const double first = replay.draw(draw(2 * copy, 0));
    EXPECT_EQ(replay.draw(draw(2 * copy + 1, 0)), 10 * first);
    begins.insert(first);
    EXPECT_EQ(replay.draw(draw(2 * copy, 1)), first == 3 ? 1 : first + 1);
  }
  EXPECT_EQ(begins, (std::set<double>{1, 2, 3}));
}

TEST(Replay, HasTheMomentsAndTheCdfOfTheTable) {
  const Replay replay = Replay::parse(kTable, "r.csv", {});
  EXPECT_DOUBLE_EQ(replay.mean(), 11);
  EXPECT_DOUBLE_EQ(replay.variance(), (100 + 81 + 64 + 1 + 81 + 361) / 6.0);
  EXPECT_EQ(replay.cdf(0.999), 0.0);
  EXPECT_EQ(replay.cdf(1), 1 / 6.0);
  EXPECT_EQ(replay.cdf(20), 5 / 6.0);
  EXPECT_EQ(replay.cdf(30), 1.0);
}

std::string table_refusal(const std::string& text) {
  return refusal_of([&] { std::ignore = Replay::parse(text, "r.csv", {}); });
}

TEST(Replay, RefusesWhatIsNoTableOfRuntimes) {
  for (const char* empty : {"", "\n\n", "# nothing\n"}) {
    EXPECT_EQ(table_refusal(empty),
              "r.csv: no runtimes; rows of seconds were expected, a column for each worker, as in "
              "a run's runtimes.csv");
  }
  EXPECT_EQ(table_refusal("1,2\n3\n"), "r.csv:2: 1 column; 2 were expected, one for each worker");
  EXPECT_EQ(table_refusal("1,2\n3,x\n"),
            "r.csv:2: column 2 is 'x'; a number of seconds was expected");
  EXPECT_EQ(table_refusal("1,2\n-3,4\n"),
            "r.csv:2: column 1 is '-3'; a number of seconds from 0 to 1000000 was expected");
  EXPECT_EQ(table_refusal("1,2\n3,0\n"),
            "r.csv: column 2 is 0 in row 2; a runtime is above 0 seconds");
}

}  // namespace
}  // namespace outpace::sim
