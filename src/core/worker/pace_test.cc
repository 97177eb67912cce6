#include "worker/pace.h"

#include <cmath>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "base/rng.h"

namespace outpace::worker {
namespace {

using std::chrono::milliseconds;

Time at(double seconds) {
  return Time{from_seconds(seconds)};
}

std::string complaint(const std::string& text, std::size_t workers) {
  return refusal_of([&] { (void)DelayTrace::parse(text, "delays.csv", workers); });
}

std::string slow_complaint(const std::string& text) {
  return refusal_of([&] { (void)Slow::parse(text, 8); });
}

Pace pace(const std::string& column, const PaceOptions& options) {
  return Pace(DelayTrace::parse(column, "delays.csv", 1), WorkerId{0}, options);
}

TEST(DelayTrace, HasAColumnForEachWorkerAndOverlooksCommentsAndBlankLines) {
  const auto trace = DelayTrace::parse("# seconds\n0.1,0.2\r\n\n 3 , 0\n", "delays.csv", 2);
  EXPECT_EQ(trace.rows(), 2U);
  EXPECT_EQ(trace.workers(), 2U);
  EXPECT_EQ(trace.column(WorkerId{0}), (std::vector<double>{0.1, 3.0}));
  EXPECT_EQ(trace.column(WorkerId{1}), (std::vector<double>{0.2, 0.0}));
}

TEST(DelayTrace, NamesTheLineAndTheColumnThatAreWrong) {
  EXPECT_EQ(complaint("# c\n1,2,3\n1,2,abc\n", 3),
            "delays.csv:3: column 3 is 'abc'; a number of seconds was expected");
  EXPECT_EQ(complaint("1,,3\n", 3),
            "delays.csv:1: column 2 is ''; a number of seconds was expected");
  EXPECT_EQ(complaint("1,nan\n", 2),
            "delays.csv:1: column 2 is 'nan'; a number of seconds was expected");
  EXPECT_EQ(complaint("-1\n", 1),
            "delays.csv:1: column 1 is '-1'; a number of seconds from 0 to 1000000 was expected");
  EXPECT_EQ(complaint("1e7\n", 1),
            "delays.csv:1: column 1 is '1e7'; a number of seconds from 0 to 1000000 was expected");
  EXPECT_EQ(complaint("1,2\n\n1\n", 2),
            "delays.csv:3: 1 column; 2 were expected, one for each worker");
  EXPECT_EQ(complaint("1,2,3\n", 1),
            "delays.csv:1: 3 columns; 1 was expected, one for each worker");
  EXPECT_EQ(complaint("# nothing\n", 8),
            "delays.csv: no delays; rows of 8 numbers of seconds were expected, one for each "
            "worker");
  EXPECT_EQ(complaint(std::string("\x1b[2J") + std::string(1000, 'x'), 1),
            "delays.csv:1: column 1 is '?[2Jxxxxxxxxxxxxxxxxxxxx...'; a number of seconds was "
            "expected");
  EXPECT_EQ(complaint("\xff\x7f\n", 1),
            "delays.csv:1: column 1 is '?\?'; a number of seconds was expected");
}

TEST(Slow, NamesAWorkerAndAFactor) {
  EXPECT_EQ(Slow::parse("worker=3,factor=4", 8), (Slow{WorkerId{3}, 4.0}));
  EXPECT_EQ(Slow::parse("3,factor=1.5", 8), (Slow{WorkerId{3}, 1.5}));
  const std::vector<Slow> slow{Slow{WorkerId{1}, 2.0}, Slow{WorkerId{3}, 4.0}};
  EXPECT_EQ(slow_factor(slow, WorkerId{3}), 4.0);
  EXPECT_EQ(slow_factor(slow, WorkerId{0}), 1.0);
}

TEST(Slow, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(slow_complaint("worker=8,factor=4"),
            "slow worker 'worker=8,factor=4': worker is '8'; it takes a whole number from 0 to 7");
  EXPECT_EQ(slow_complaint("worker=3"),
            "slow worker 'worker=3': factor is missing; it takes a number from 1 to 1000");
  EXPECT_EQ(slow_complaint("worker=3,factor=0.5"),
            "slow worker 'worker=3,factor=0.5': factor is '0.5'; it takes a number from 1 to 1000");
  EXPECT_EQ(slow_complaint("worker=3,faktor=2,factor=2"),
            "slow worker 'worker=3,faktor=2,factor=2': unknown option 'faktor'; did you mean "
            "'factor'?");
}

TEST(Pace, ByIterationTakesTheRowOfTheWorkersOwnIterationWheneverItIs) {
  const Pace paced = pace("0.1\n0.2\n0.4\n", {.by = DelaysBy::kIteration});
  EXPECT_EQ(paced.finish(at(7), 1.0, 0), at(7.1));
  EXPECT_EQ(paced.finish(at(7), 1.0, 2), at(7.4));
  EXPECT_EQ(paced.finish(at(7), 1.0, 4), at(7.2));  // Rows wrap round.
  EXPECT_EQ(paced.finish(at(7), 0.5, 1), at(7.1));  // Half a mini-batch takes half the time.
  EXPECT_DOUBLE_EQ(paced.done(at(7), at(7.3), 2), 0.75);
  EXPECT_DOUBLE_EQ(paced.done(at(7), at(6.9), 2), 0.0);
}

// By time, period 20 ms: 10 ms a mini-batch in the even periods, 80 ms in the odd ones.
TEST(Pace, ByTimeChangesTheRateInTheMiddleOfAMiniBatch) {
  const Pace paced = pace("0.01\n0.08\n", {.period = milliseconds(20)});
  EXPECT_EQ(paced.finish(at(0), 1.0, 99), at(0.010));
  // Half of it before the change, half of it eight times as slow and so into the fast period:
  // 20 ms at 1/80 ms are 1/4; the last quarter takes 2.5 ms.
  EXPECT_EQ(paced.finish(at(0.015), 1.0, 99), at(0.0425));
  EXPECT_DOUBLE_EQ(paced.done(at(0.015), at(0.040), 99), 0.75);
  EXPECT_EQ(paced.finish(at(0.015), 0.5, 99), at(0.020));
  // Two mini-batches and a quarter in every cycle of 40 ms.
  EXPECT_DOUBLE_EQ(paced.done(at(0.010), at(4.010), 99), 225.0);
}

TEST(Pace, AZeroDelayIsDoneAtOnce) {
  const Pace by_iteration = pace("0\n0.1\n", {.by = DelaysBy::kIteration});
  EXPECT_EQ(by_iteration.finish(at(1), 1.0, 2), at(1));
  EXPECT_EQ(by_iteration.done(at(1), at(1), 2), HUGE_VAL);
  const Pace by_time = pace("1000\n1000\n0\n", {.period = milliseconds(20)});
  EXPECT_EQ(by_time.finish(at(0.05), 1.0, 0), at(0.05));
  EXPECT_EQ(by_time.finish(at(0), 1.0, 0), at(0.04));  // At the beginning of the free period.
  EXPECT_LT(by_time.done(at(0), at(0.0399), 0), 1e-4);
  EXPECT_EQ(by_time.finish(at(0.06), 1.0, 0), at(0.1));
  const Pace always = pace("0\n", {.period = Duration{1}});
  EXPECT_EQ(always.finish(at(12345), 1.0, 0), at(12345));
}

TEST(Pace, ASlowedWorkerMultipliesTheTraceOrWithoutOneItsOwnComputing) {
  const Pace traced = pace("0.1\n", {.by = DelaysBy::kIteration, .factor = 4.0});
  EXPECT_EQ(traced.finish(at(0), 1.0, 0), at(0.4));
  EXPECT_EQ(traced.extra_seconds(0.01), 0.0);
  const Pace untraced(PaceOptions{.factor = 4.0});
  EXPECT_EQ(untraced.finish(at(5), 1.0, 0), at(5));
  EXPECT_EQ(untraced.done(at(5), at(5), 0), HUGE_VAL);
  EXPECT_DOUBLE_EQ(untraced.extra_seconds(0.01), 0.03);
  EXPECT_EQ(Pace(PaceOptions{}).extra_seconds(0.01), 0.0);
}

TEST(Pace, HugeDelaysInTinyPeriodsTakeNoTimeToCompute) {
  const Pace paced = pace("1000000\n0.000001\n", {.period = Duration{1}, .factor = 1000.0});
  const Time end = paced.finish(at(0), 1.0, 0);  // 1 ms, in every second nanosecond.
  EXPECT_NEAR(to_seconds(end), 0.002, 1e-6);
  EXPECT_GE(paced.finish(at(1e6), 100.0, 0), at(1e6 + 0.2 - 1e-6));
}

// The rule in words: in each period, work at the rate of its row until it is done or over.
double dumb_finish(const std::vector<double>& column, double period, double start, double share) {
  auto slot = static_cast<std::size_t>(std::floor(start / period + 1e-9));
  double time = start;
  while (true) {
    const double delay = column[slot % column.size()];
    const double rest = static_cast<double>(slot + 1) * period - time;
    if (share * delay <= rest) {
      return time + share * delay;
    }
    share -= rest / delay;
    time = static_cast<double>(++slot) * period;
  }
}

TEST(Pace, AgreesWithADumbTwinOnRandomTracesAndWithItself) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed, 0);
    std::string text;
    for (std::uint64_t row = 0, rows = 1 + rng.below(6); row < rows; ++row) {
      text +=
          rng.below(8) == 0 ? "0\n" : std::to_string(std::pow(10.0, -3 + 3 * rng.uniform())) + "\n";
    }
    const auto trace = DelayTrace::parse(text, "delays.csv", 1);
    const double period = std::pow(10.0, -3 + 2 * rng.uniform());
    const PaceOptions options{.period = from_seconds(period)};
    const Pace paced(trace, WorkerId{0}, options);
    const Time start = at(10 * rng.uniform());
    const double share = 0.01 + 1.5 * rng.uniform();

    const Time end = paced.finish(start, share, 0);
    EXPECT_NEAR(
        to_seconds(end),
        dumb_finish(
            trace.column(WorkerId{0}), to_seconds(options.period), to_seconds(start), share),
        2e-9);
    EXPECT_GE(paced.done(start, end, 0), share);
    if (end > start) {
      EXPECT_LT(paced.done(start, end - Duration{1}, 0), share);
    }
    // A part pushed on the way, and the rest after it, take as long as the whole.
    const Time part_end = start + Duration{(end - start).count() / 3};
    const double part = paced.done(start, part_end, 0);
    if (part < share) {
      EXPECT_NEAR(to_seconds(paced.finish(part_end, share - part, 0)), to_seconds(end), 2e-9);
    }
  }
}

}  // namespace
}  // namespace outpace::worker
