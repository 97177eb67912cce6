#include "sim/timing.h"

#include <gtest/gtest.h>

namespace outpace::sim {
namespace {

using std::chrono::milliseconds;

DrawnTiming unhurried(std::vector<double> factors) {
  return {Runtimes::parse("constant(mean=100ms)", {.workers = 2, .seed = 1, .read_file = {}}),
          std::move(factors)};
}

TEST(DrawnTiming, TakesItsShareOfARuntime) {
  DrawnTiming timing = unhurried({});
  const Time start{milliseconds(30)};
  EXPECT_EQ(timing.finish(WorkerId{0}, start, 1.0, 0), Time{milliseconds(130)});
  EXPECT_EQ(timing.finish(WorkerId{1}, start, 0.25, 7), Time{milliseconds(55)});
  EXPECT_DOUBLE_EQ(timing.done(WorkerId{0}, start, Time{milliseconds(55)}, 0), 0.25);
}

TEST(DrawnTiming, MultipliesTheRuntimesOfASlowWorker) {
  DrawnTiming timing = unhurried({1.0, 4.0});
  EXPECT_EQ(timing.finish(WorkerId{0}, Time{}, 1.0, 0), Time{milliseconds(100)});
  EXPECT_EQ(timing.finish(WorkerId{1}, Time{}, 1.0, 0), Time{milliseconds(400)});
}

TEST(DrawnTiming, KeepsTheRuntimeThatAMiniBatchBeganWith) {
  DrawnTiming timing(
      Runtimes::parse("exponential(mean=1s)", {.workers = 1, .seed = 3, .read_file = {}}), {});
  for (std::uint64_t iteration = 0; iteration < 100; ++iteration) {
    const Time start{milliseconds(1000 * iteration)};
    const Time end = timing.finish(WorkerId{0}, start, 1.0, iteration);
    EXPECT_NEAR(timing.done(WorkerId{0}, start, end, iteration), 1.0, 1e-6);
  }
}

TEST(SteppedTiming, EachMiniBatchOfAPhaseHasARuntimeOfItsOwn) {
  const auto drawn = [] {
    return std::make_unique<DrawnTiming>(
        Runtimes::parse("exponential(mean=1s)", {.workers = 1, .seed = 3, .read_file = {}}),
        std::vector<double>{});
  };
  const auto one = drawn();
  SteppedTiming timing(drawn(), 4);
  Time sum{};
  for (std::uint64_t step = 8; step < 12; ++step) {  // The third phase.
    sum = one->finish(WorkerId{0}, sum, 1.0, step);
    const auto steps = static_cast<double>(step - 7);
    EXPECT_EQ(timing.finish(WorkerId{0}, Time{}, steps, 2), sum);
    EXPECT_NEAR(timing.done(WorkerId{0}, Time{}, sum, 2), steps, 1e-6);
  }
  const Time half = one->finish(WorkerId{0}, Time{}, 0.5, 8);
  EXPECT_EQ(timing.finish(WorkerId{0}, Time{}, 0.5, 2), half);
  EXPECT_NEAR(timing.done(WorkerId{0}, Time{}, half, 2), 0.5, 1e-6);
  // A worker that is asked for its part finishes the mini-batch that it is at.
  EXPECT_EQ(timing.finish_part(WorkerId{0}, Time{}, half, 1.0, 2),
            one->finish(WorkerId{0}, Time{}, 1.0, 8));
}

// As tests of live runs give delays: a column for each worker.
PacedTiming paced(const std::string& trace, Duration compute, std::uint32_t cores = 0) {
  std::vector<worker::Pace> paces;
  for (std::uint32_t worker = 0; worker < 2; ++worker) {
    paces.emplace_back(
        worker::DelayTrace::parse(trace, "trace", 2), WorkerId{worker}, worker::PaceOptions{});
  }
  return {std::move(paces), compute, cores};
}

TEST(PacedTiming, ComputesAfterTheDelay) {
  PacedTiming timing = paced("0.1,0.4\n", milliseconds(8));
  const worker::Pace slow(
      worker::DelayTrace::parse("0.1,0.4\n", "trace", 2), WorkerId{1}, worker::PaceOptions{});
  EXPECT_EQ(timing.finish(WorkerId{1}, Time{}, 1.0, 0),
            slow.finish(Time{}, 1.0, 0) + milliseconds(8));
  EXPECT_EQ(timing.finish(WorkerId{1}, Time{}, 0.5, 0),
            slow.finish(Time{}, 0.5, 0) + milliseconds(4));
}

TEST(PacedTiming, SharesTheProcessorsOfItsMachineAfterTheDelays) {
  PacedTiming timing = paced("0.1,0.1\n", milliseconds(8), 1);
  const Time first = timing.finish(WorkerId{0}, Time{}, 1.0, 0);
  EXPECT_EQ(timing.finish(WorkerId{1}, Time{}, 1.0, 0), first + milliseconds(8));
}

TEST(PacedTiming, ComputesThePartThatIsKept) {
  PacedTiming timing = paced("0.1,0.4\n", milliseconds(8));
  const Time now{milliseconds(100)};
  EXPECT_NEAR(timing.done(WorkerId{1}, Time{}, now, 0), 0.25, 1e-9);
  EXPECT_EQ(timing.finish_part(WorkerId{1}, Time{}, now, 0.25, 0), Time{milliseconds(102)});
}

TEST(PacedTiming, SlowsTheComputingOfAWorkerWithoutATrace) {
  PacedTiming timing({worker::Pace({.factor = 3.0})}, milliseconds(10), 0);
  EXPECT_EQ(timing.finish(WorkerId{0}, Time{}, 1.0, 0), Time{milliseconds(30)});
}

}  // namespace
}  // namespace outpace::sim
