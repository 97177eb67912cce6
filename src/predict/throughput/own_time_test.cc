#include "throughput/own_time.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::throughput {
namespace {

using std::chrono::milliseconds;

Time at_ms(std::int64_t ms) {
  return Time{milliseconds(ms)};
}

TEST(BeginsOf, ThoseWithAProcessorEachTakeWhatTheyNeed) {
  const auto begins =
      begins_of({{.end = at_ms(100), .seconds = 0.02}, {.end = at_ms(90), .seconds = 0.03}}, 2);
  EXPECT_EQ(begins, (std::vector{at_ms(80), at_ms(60)}));
}

TEST(BeginsOf, ThoseThatShareOneGoOnAtHalfTheSpeed) {
  // Backwards from 100: alone for 10 ms, then both to 70, when the second is done, then alone.
  const auto begins =
      begins_of({{.end = at_ms(100), .seconds = 0.04}, {.end = at_ms(90), .seconds = 0.01}}, 1);
  EXPECT_EQ(begins, (std::vector{at_ms(50), at_ms(70)}));
}

// Processor sharing forwards, in small steps.
std::vector<double> ends_by_steps(const std::vector<double>& begins,
                                  std::vector<double> left,
                                  std::uint32_t cores,
                                  double step) {
  std::vector<double> ends(begins.size(), 0.0);
  for (std::uint64_t i = 0; std::count(ends.begin(), ends.end(), 0.0) > 0; ++i) {
    const double now = static_cast<double>(i) * step;
    std::vector<std::size_t> active;
    for (std::size_t j = 0; j < begins.size(); ++j) {
      if (begins[j] <= now && left[j] > 0.0) {
        active.push_back(j);
      }
    }
    for (const std::size_t j : active) {
      left[j] -= step * std::min(1.0, double(cores) / double(active.size()));
      ends[j] = left[j] <= 0.0 ? now + step : 0.0;
    }
  }
  return ends;
}

TEST(BeginsOf, ComputationsBegunThenEndWhenTheyDid) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed, 0);
    std::vector<Computation> computations;
    std::vector<double> seconds;
    for (int i = 0; i < 8; ++i) {
      seconds.push_back(0.1 + rng.uniform());
      computations.push_back(
          {.end = Time{from_seconds(10.0 + 2.0 * rng.uniform())}, .seconds = seconds.back()});
    }
    std::vector<double> begins;
    for (const Time begin : begins_of(computations, 3)) {
      begins.push_back(to_seconds(begin));
    }
    const auto ends = ends_by_steps(begins, seconds, 3, 1e-4);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      // Each of the 16 begins and ends moves what is shared by a step at most.
      EXPECT_NEAR(ends[i], to_seconds(computations[i].end), 20e-4);
    }
  }
}

policy::RecordedRun two_together() {
  policy::RecordedRun run{.policy = "sync", .workers = std::vector<policy::RecordedWorker>(2)};
  run.workers[0].iterations = {{.begin = at_ms(1000), .end = at_ms(1100)}};
  run.workers[1].iterations = {{.begin = at_ms(1000), .end = at_ms(1200), .share = 0.5}};
  return run;
}

TEST(OwnTimes, AreAllOfARuntimeWhereTheProcessorsAreNotKnown) {
  const auto own = own_times(two_together());
  EXPECT_DOUBLE_EQ(own[0][0], 0.1);
  EXPECT_DOUBLE_EQ(own[1][0], 0.4);
}

TEST(OwnTimes, AreWhatIsLeftWithoutTheServerAndTheProcessors) {
  policy::RecordedRun run = two_together();
  run.cores = 2;
  run.server_seconds = 0.004;
  run.workers[0].processor_seconds = 0.010;
  const auto own = own_times(run);
  // Weights after 2 ms, and 10 ms of computing and 2 ms of taking in at its end.
  EXPECT_NEAR(own[0][0], 0.1 - 0.002 - 0.010 - 0.002, 1e-9);
  // It is elsewhere, and was the second to get weights.
  EXPECT_NEAR(own[1][0], (0.2 - 0.004) / 0.5, 1e-9);
}

// A worker sleeps and then computes, so 1/32 of a mini-batch does not take 1/32 of its time.
TEST(OwnTimes, OfOneThatWasCutOffAreThoseOfTheWholeOneBeforeIt) {
  policy::RecordedRun run;
  run.policy = "saps:s=3,action=preempt";
  run.workers.resize(2);
  const auto cut_off = [](std::int64_t begin, std::int64_t end) {
    return policy::RecordedIteration{
        .begin = at_ms(begin), .end = at_ms(end), .share = 1.0 / 32, .partial = true};
  };
  run.workers[0].iterations = {cut_off(0, 50),
                               {.begin = at_ms(50), .end = at_ms(150)},
                               cut_off(150, 240),
                               cut_off(240, 360)};
  run.workers[1].iterations = {cut_off(0, 10)};
  const auto own = own_times(run);
  EXPECT_DOUBLE_EQ(own[0][0], 0.1);  // None is before it.
  EXPECT_DOUBLE_EQ(own[0][2], 0.1);
  EXPECT_DOUBLE_EQ(own[0][3], 0.12);  // It took longer than that.
  EXPECT_DOUBLE_EQ(own[1][0], 0.32);  // There is no whole one.
}

// Its mini-batches have their delays one by one, and its messages are apart.
TEST(OwnTimes, OfAPartOfAPhaseAreInProportionButForItsMessages) {
  policy::RecordedRun run;
  run.policy = "backup:cutoff=1";
  run.workers.resize(3);
  run.given.local_steps = 10;
  run.workers[0].iterations = {{.begin = at_ms(0), .end = at_ms(120)}};
  run.workers[1].iterations = {
      {.begin = at_ms(0), .end = at_ms(420)},
      {.begin = at_ms(420), .end = at_ms(520), .share = 0.2, .partial = true}};
  EXPECT_DOUBLE_EQ(message_seconds(run), 0.0);
  EXPECT_DOUBLE_EQ(own_times(run)[1][1], 0.5);
  run.workers[0].communication_seconds = 0.02;
  EXPECT_DOUBLE_EQ(message_seconds(run), 0.0);  // Those of worker 1 are not known.
  run.workers[1].communication_seconds = 0.03;
  EXPECT_DOUBLE_EQ(message_seconds(run), 0.02);
  const auto own = own_times(run);
  EXPECT_DOUBLE_EQ(own[0][0], 0.1);
  EXPECT_DOUBLE_EQ(own[1][0], 0.4);
  EXPECT_DOUBLE_EQ(own[1][1], 0.4);
  run.given.local_steps = 0;
  EXPECT_DOUBLE_EQ(message_seconds(run), 0.0);
}

}  // namespace
}  // namespace outpace::throughput
