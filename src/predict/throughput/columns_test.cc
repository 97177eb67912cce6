#include "throughput/columns.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

using std::chrono::milliseconds;

Time milli(std::int64_t count) {
  return Time{milliseconds(count)};
}

policy::RecordedRun three_workers() {
  policy::RecordedRun run{.policy = "async", .workers = std::vector<policy::RecordedWorker>(4)};
  run.workers[0].iterations = {{.begin = milli(0), .end = milli(100)},
                               {.begin = milli(100), .end = milli(200)}};
  run.workers[1].iterations = {{.begin = milli(0), .end = milli(150)},
                               {.begin = milli(150), .end = milli(200)}};
  run.workers[2].iterations = {{.begin = milli(0), .end = milli(400)}};
  run.workers[2].communication_seconds = 0.3;
  run.workers[1].communication_seconds = 0.2;
  return run;  // Worker 3 finished nothing.
}

TEST(Columns, HaveEveryIteration) {
  const auto columns = recorded_columns(three_workers());
  EXPECT_EQ(columns[1].begins, (std::vector{milli(0), milli(150)}));
  EXPECT_EQ(columns[1].own, (std::vector{0.15, 0.05}));
  EXPECT_TRUE(columns[3].own.empty());
  EXPECT_DOUBLE_EQ(mean_own(columns[1]), 0.1);
}

TEST(Columns, MessagesOfPhasesAreApartAndAreNotHalvedHere) {
  policy::RecordedRun run;
  run.policy = "sync";
  run.workers.resize(2);
  run.given.local_steps = 10;
  for (policy::RecordedWorker& worker : run.workers) {
    worker.iterations = {{.begin = milli(0), .end = milli(400)}};
  }
  run.workers[0].communication_seconds = 0.04;
  run.workers[1].communication_seconds = 0.06;
  const auto faster = faster_link_columns(run, recorded_columns(run));
  EXPECT_DOUBLE_EQ(faster[0].own[0], 0.36);
  EXPECT_DOUBLE_EQ(faster[1].own[0], 0.35);
}

TEST(Columns, AMedianIsOverTheWorkersAtThatTime) {
  const auto columns = recorded_columns(three_workers());
  const auto all = median_columns(columns, MedianOf::kAll);
  EXPECT_EQ(all[0].own, (std::vector{0.15, 0.1}));  // At 100 ms worker 1's is that of 150 ms.
  EXPECT_EQ(all[2].own, (std::vector{0.15}));
  EXPECT_TRUE(all[3].own.empty());
  const auto others = median_columns(columns, MedianOf::kOthers);
  EXPECT_EQ(others[2].own, (std::vector{0.125}));  // The mean of the two in the middle.
  EXPECT_EQ(others[0].own[0], 0.275);
}

TEST(Columns, ALoneWorkersMedianOfOthersIsItsOwn) {
  policy::RecordedRun run = three_workers();
  run.workers.resize(1);
  const auto columns = recorded_columns(run);
  EXPECT_EQ(median_columns(columns, MedianOf::kOthers)[0].own, columns[0].own);
}

TEST(Columns, AFasterLinkTakesHalfTheCommunication) {
  const policy::RecordedRun run = three_workers();
  const auto faster = faster_link_columns(run, recorded_columns(run));
  EXPECT_DOUBLE_EQ(faster[2].own[0], 0.25);
  EXPECT_EQ(faster[0].own, (std::vector{0.1, 0.1}));
  // A link twice as fast at most halves an iteration.
  EXPECT_DOUBLE_EQ(faster[1].own[0], 0.075);
  EXPECT_DOUBLE_EQ(faster[1].own[1], 0.025);
}

}  // namespace
}  // namespace outpace::throughput
