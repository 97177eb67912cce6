#include "record/stragglers.h"

#include <gtest/gtest.h>

namespace outpace::record {
namespace {

server::Statistics with_runtimes(const std::vector<std::vector<float>>& runtimes) {
  server::Statistics statistics;
  for (const std::vector<float>& of_worker : runtimes) {
    server::WorkerStatistics worker;
    worker.live = true;
    worker.runtimes = of_worker;
    statistics.workers.push_back(worker);
  }
  return statistics;
}

std::vector<float> times(std::size_t count, float seconds) {
  return std::vector<float>(count, seconds);
}

TEST(Stragglers, AreNamedWithTheirFactorTheSlowestFirst) {
  const auto slow = stragglers_now(with_runtimes(
      {times(9, 0.02F), times(9, 0.04F), times(9, 0.02F), times(9, 0.08F), times(9, 0.02F)}));
  ASSERT_EQ(slow.size(), 2U);
  EXPECT_EQ(to_words(slow[0]), "worker 3 (4.0x)");
  EXPECT_EQ(to_words(slow[1]), "worker 1 (2.0x)");
}

TEST(Stragglers, AreMoreThanHalfAgainAsSlow) {
  EXPECT_TRUE(stragglers_now(with_runtimes({times(5, 2.0F), times(5, 3.0F)})).empty());
  EXPECT_EQ(stragglers_now(with_runtimes({times(5, 2.0F), times(5, 3.1F)})).size(), 1U);
}

TEST(Stragglers, AreNotNamedForOneLongPause) {
  std::vector<float> with_pause = times(19, 0.02F);
  with_pause.push_back(2.0F);
  EXPECT_TRUE(stragglers_now(with_runtimes({with_pause, times(20, 0.02F)})).empty());
}

TEST(Stragglers, AreJudgedByTheirLastTwentyRuntimesWhileTheRunGoesOn) {
  std::vector<float> recovered = times(100, 1.0F);
  recovered.insert(recovered.end(), 20, 0.02F);
  const server::Statistics statistics = with_runtimes({recovered, times(120, 0.02F)});
  EXPECT_TRUE(stragglers_now(statistics).empty());
  EXPECT_EQ(stragglers_overall(statistics).size(), 1U);
}

TEST(Stragglers, AreLiveAndMeasuredWhileTheRunGoesOn) {
  server::Statistics statistics =
      with_runtimes({times(9, 0.02F), times(9, 0.02F), times(9, 0.5F), times(2, 0.5F), {}});
  statistics.workers[2].live = false;
  EXPECT_TRUE(stragglers_now(statistics).empty());
  EXPECT_EQ(stragglers_overall(statistics).size(), 2U);
}

TEST(Stragglers, AreNoneWithoutMeasurements) {
  EXPECT_TRUE(stragglers_now({}).empty());
  EXPECT_TRUE(stragglers_overall(with_runtimes({{}, {}})).empty());
}

}  // namespace
}  // namespace outpace::record
