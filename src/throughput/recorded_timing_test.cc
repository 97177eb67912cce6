#include "throughput/recorded_timing.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

using std::chrono::milliseconds;

Time ms(std::int64_t count) {
  return Time{milliseconds(count)};
}

const std::vector<Column> kThree{{.begins = {ms(0), ms(100), ms(300)}, .own = {0.1, 0.2, 0.4}}};
const Blocks kInOrder{.length = milliseconds(700), .order = {0}};

RecordedTiming alone(Blocks blocks, Duration shift = {}) {
  return {kThree, {{.column = 0, .shift = shift}}, std::move(blocks), {}};
}

TEST(RecordedTiming, TakesWhatTheIterationTookThatBeganNearest) {
  RecordedTiming timing = alone(kInOrder);
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(49), 1.0, 0), ms(149));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(51), 1.0, 1), ms(251));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(650), 0.5, 2), ms(850));
  EXPECT_DOUBLE_EQ(timing.done(WorkerId{0}, ms(650), ms(750), 2), 0.25);
}

TEST(RecordedTiming, BeginsAgainAfterTheRecordsEnd) {
  RecordedTiming timing = alone(kInOrder);
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(700 + 300), 1.0, 0), ms(700 + 300 + 400));
}

TEST(RecordedTiming, GoesOnToTheNeighboursWhereMoreIsBegunThanThereWas) {
  RecordedTiming timing = alone(kInOrder);
  std::vector<std::int64_t> took;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Time start = ms(90 + static_cast<std::int64_t>(i));
    took.push_back((timing.finish(WorkerId{0}, start, 1.0, i) - start) / milliseconds(1));
  }
  EXPECT_EQ(took, (std::vector<std::int64_t>{200, 400, 100, 200}));  // 2, 3, 1; 4 mirrors to 2.
}

TEST(Levels, AreMediansThatKeepSteps) {
  EXPECT_EQ(levels_of({1, 2, 1, 5, 1, 8, 8, 8, 9}),
            (std::vector<double>{1, 1, 1, 2, 5, 8, 8, 8, 9}));
  EXPECT_TRUE(levels_of({}).empty());
}

TEST(RecordedTiming, ANeighboursShareOfChanceGoesWithTheLevelOfTheTime) {
  std::vector<Column> step{{.begins = {ms(0), ms(100)}, .own = {0.1, 0.6}, .level = {0.1, 0.4}}};
  RecordedTiming timing(step, {{.column = 0}}, {.length = milliseconds(700), .order = {0}}, {});
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(10), 1.0, 0), ms(110));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(20), 1.0, 1), ms(170));  // 0.1 * 0.6 / 0.4.
}

TEST(RecordedTiming, ReadsBlocksInTheOrderDrawn) {
  const Blocks swapped{.length = milliseconds(600), .order = {1, 0}};
  EXPECT_EQ(swapped.source(ms(20)), ms(320));
  EXPECT_EQ(swapped.source(ms(320)), ms(20));
  EXPECT_EQ(swapped.source(ms(920)), ms(20));
  RecordedTiming timing = alone(swapped);
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(0), 1.0, 0), ms(400));
}

TEST(RecordedTiming, ACopyReadsFromLaterOn) {
  RecordedTiming timing = alone(kInOrder, milliseconds(300));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(0), 1.0, 0), ms(400));
}

TEST(RecordedTiming, WaitsForTheServerAndTheProcessors) {
  const std::vector<Column> both{{.begins = {ms(0)}, .own = {0.1}, .processor_seconds = 0.010}};
  RecordedTiming timing(both,
                        {{.column = 0}, {.column = 0}},
                        {.length = milliseconds(100), .order = {0}},
                        {.cores = 1, .hand_out = 0.002, .take_in = 0.001});
  // Weights after 2 ms, and 11 ms of computing; the second has weights after 4 ms, and waits for
  // the first one's processor.
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(0), 1.0, 0), ms(2 + 100 + 11));
  EXPECT_EQ(timing.finish(WorkerId{1}, ms(0), 1.0, 0), ms(2 + 100 + 11 + 11));
  EXPECT_EQ(timing.done(WorkerId{1}, ms(0), ms(3), 0), 0.0);
  EXPECT_DOUBLE_EQ(timing.done(WorkerId{1}, ms(0), ms(54), 0), 0.5);
}

TEST(RecordedTiming, WhoIsCancelledNeedsNoProcessor) {
  const std::vector<Column> both{{.begins = {ms(0)}, .own = {0.1}, .processor_seconds = 0.010}};
  RecordedTiming timing(both,
                        {{.column = 0}, {.column = 0}},
                        {.length = milliseconds(100), .order = {0}},
                        {.cores = 1});
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(0), 1.0, 0), ms(110));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(50), 1.0, 1), ms(160));
  EXPECT_EQ(timing.finish(WorkerId{1}, ms(50), 0.5, 0), ms(105));  // Where the first one was.
}

TEST(RecordedTiming, WhatTakesNoTimeIsDoneAtOnceAndTakesANanosecond) {
  const std::vector<Column> none{{.begins = {ms(0)}, .own = {0.0}}};
  RecordedTiming timing(none, {{.column = 0}}, {.length = milliseconds(1), .order = {0}}, {});
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(0), 1.0, 0), Time{Duration{1}});
  EXPECT_TRUE(std::isinf(timing.done(WorkerId{0}, ms(0), ms(1), 0)));
}

}  // namespace
}  // namespace outpace::throughput
