#include "watch/slow_alarms.h"

#include <chrono>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

using namespace std::chrono_literals;

constexpr WorkerId kWorker{1};

// Two workers; what the watch says of the second one comes from runtimes.
struct Held {
  SlowAlarms alarms;
  SlowWatch watch;
  std::vector<WorkerView> workers{2};

  // 100 ms a mini-batch, until that is its past; and then `seconds`.
  void becomes_slow(double seconds) {
    for (int i = 0; i < 60; ++i) {
      EXPECT_FALSE(watch.see(kWorker, 0.1, false));
    }
    for (int i = 0; i < 40; ++i) {
      if (const auto change = watch.see(kWorker, seconds, false)) {
        EXPECT_FALSE(alarms.see(Time{0s}, *change));
      }
    }
  }
  std::vector<Alarm> due(Duration at) { return alarms.due(Time{at}, watch, workers); }
};

TEST(SlowAlarms, TellsOfAWorkerThatIsStillSlowAfterASecondAndOnce) {
  Held held;
  held.becomes_slow(0.4);
  EXPECT_TRUE(held.due(999ms).empty());
  const std::vector<Alarm> due = held.due(1s);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].kind, AlarmKind::kSlow);
  EXPECT_EQ(due[0].worker, kWorker);
  EXPECT_EQ(
      due[0].words,
      fmt::format("worker 1 has become slow: {:.1f}x its own past", held.watch.factor(kWorker)));
  EXPECT_TRUE(held.due(2s).empty());
}

TEST(SlowAlarms, ForgetsAWorkerThatRecoversBefore) {
  Held held;
  held.becomes_slow(0.4);
  const auto over = held.alarms.see(Time{500ms}, {kWorker, Change::kRecovered, 4.0});
  ASSERT_TRUE(over);
  EXPECT_TRUE(over->over);
  EXPECT_EQ(over->words, "worker 1 has recovered");
  EXPECT_TRUE(held.due(1s).empty());
}

TEST(SlowAlarms, ForgetsAWorkerWhosePastCountsNoLonger) {
  Held one;
  one.becomes_slow(0.4);
  one.alarms.forget(WorkerId{0});
  EXPECT_EQ(Held(one).due(1s).size(), 1U);
  one.alarms.forget(kWorker);
  EXPECT_TRUE(one.due(1s).empty());
  Held all;
  all.becomes_slow(0.4);
  all.alarms.forget_all();
  EXPECT_TRUE(all.due(1s).empty());
}

TEST(SlowAlarms, TellsOfAWorkerThatIsAlwaysCutOffThoughNobodyKnowsHowSlowItIs) {
  Held held;
  (void)held.alarms.see(Time{0s}, {kWorker, Change::kSlow, 1.2, /*at_least=*/true});
  held.workers[1].cut_in_a_row = 19;
  EXPECT_TRUE(held.due(5s).empty());
  held.workers[1].cut_in_a_row = 20;
  ASSERT_EQ(Held(held).due(6s).size(), 1U);
  EXPECT_EQ(held.due(6s)[0].words,
            "worker 1 has become slow: cut off 20 times in a row, which it was not before");
}

TEST(SlowAlarms, TellsOfTheClusterByTheFactorThatItWasFoundWith) {
  Held held;
  (void)held.alarms.see(Time{0s}, {std::nullopt, Change::kSlow, 2.0});
  const std::vector<Alarm> due = held.due(1s);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].kind, AlarmKind::kCluster);
  EXPECT_EQ(due[0].words, "most workers have become slow: 2.0x their own past");
  EXPECT_EQ(held.alarms.see(Time{2s}, {std::nullopt, Change::kRecovered, 2.0})->words,
            "most workers have recovered");
}

}  // namespace
}  // namespace outpace::watch
