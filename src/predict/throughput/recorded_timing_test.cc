#include "throughput/recorded_timing.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

using std::chrono::milliseconds;

Time ms(std::int64_t count) {
  return Time{milliseconds(count)};
}

// Twenty of 100 ms and more, at one level: the n-th takes 0.1 s and n ms.
const std::vector<Column>& twenty() {
  static const std::vector<Column> columns = [] {
    Column column;
    for (int i = 0; i < 20; ++i) {
      column.begins.push_back(ms(100 * i));
      column.own.push_back(0.1 + 0.001 * i);
    }
    return std::vector<Column>{column};
  }();
  return columns;
}
const Blocks kInOrder{.length = milliseconds(2000), .order = {0}};

RecordedTiming alone(Blocks blocks, Duration shift = {}) {
  return {twenty(), {{.column = 0, .shift = shift}}, std::move(blocks), {}};
}

// Which of twenty() each mini-batch is, of those that begin so far apart.
std::vector<std::int64_t> read_every(RecordedTiming timing, std::int64_t apart, int count) {
  std::vector<std::int64_t> found;
  for (int i = 0; i < count; ++i) {
    const Time start = ms(apart * i);
    const Duration took =
        timing.finish(WorkerId{0}, start, 1.0, static_cast<std::uint64_t>(i)) - start;
    found.push_back(took / milliseconds(1) - 100);
  }
  return found;
}

TEST(RecordedTiming, TakesWhatTheIterationsOfThatTimeTookOneAfterAnother) {
  EXPECT_EQ(read_every(alone(kInOrder), 103, 5), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  RecordedTiming timing = alone(kInOrder);
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(350), 0.5, 0), ms(350 + 52));
  EXPECT_DOUBLE_EQ(timing.done(WorkerId{0}, ms(350), ms(376), 0), 0.25);
}

TEST(RecordedTiming, APhaseIsOfMiniBatchesAndAPartEndsWithOne) {
  const std::vector<Column> phases{{.begins = {ms(0)}, .own = {0.4}}};
  RecordedTiming timing(
      phases, {{.column = 0}}, {.length = milliseconds(400), .order = {0}}, {}, /*local_steps=*/10);
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(100), 10.0, 0), ms(500));
  EXPECT_DOUBLE_EQ(timing.done(WorkerId{0}, ms(100), ms(200), 0), 2.5);
  EXPECT_EQ(timing.finish_part(WorkerId{0}, ms(100), ms(200), 3.0, 0), ms(220));
  EXPECT_EQ(timing.finish_part(WorkerId{0}, ms(100), ms(230), 3.0, 0), ms(230));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(500), 5.0, 1), ms(700));  // The lease was shorter.
}

TEST(RecordedTiming, GoesBackWhereMoreIsBegunThanThereWas) {
  EXPECT_EQ(read_every(alone(kInOrder), 20, 12),
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
}

TEST(RecordedTiming, GoesAheadWhereLessIsBegunThanThereWas) {
  EXPECT_EQ(read_every(alone(kInOrder), 300, 6), (std::vector<std::int64_t>{0, 1, 2, 13, 14, 15}));
}

TEST(RecordedTiming, LengthDoesNotDecideHowOftenAnIterationIsRead) {
  Column column;  // Long and short ones in turn: half of the time 300 ms, half 100 ms.
  for (int i = 0; i < 1000; ++i) {
    column.begins.push_back(ms(200 * i + (i % 2 == 0 ? 0 : 100)));
    column.own.push_back(i % 2 == 0 ? 0.3 : 0.1);
  }
  const std::vector<Column> columns{column};
  for (const std::int64_t apart : {50, 130, 200, 310, 470}) {
    RecordedTiming timing(
        columns, {{.column = 0}}, {.length = milliseconds(200'000), .order = {0}}, {});
    double sum = 0.0;
    const std::int64_t count = 190'000 / apart;
    for (std::int64_t i = 0; i < count; ++i) {
      const Time start = ms(apart * i);
      sum +=
          to_seconds(timing.finish(WorkerId{0}, start, 1.0, static_cast<std::uint64_t>(i)) - start);
    }
    EXPECT_NEAR(sum / static_cast<double>(count), 0.2, 0.01) << apart;
  }
}

TEST(RecordedTiming, BeginsAgainAfterTheRecordsEnd) {
  RecordedTiming timing = alone(kInOrder);
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(1900), 1.0, 0), ms(1900 + 119));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(1950), 1.0, 1), ms(1950 + 116));  // Four before its end.
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(2000 + 300), 1.0, 2), ms(2000 + 300 + 103));
}

TEST(Levels, AreMediansThatKeepSteps) {
  EXPECT_EQ(levels_of({1, 2, 1, 5, 1, 8, 8, 8, 9}),
            (std::vector<double>{1, 1, 1, 2, 5, 8, 8, 8, 9}));
  EXPECT_TRUE(levels_of({}).empty());
}

TEST(RecordedTiming, ANeighboursShareOfChanceGoesWithTheLevelOfTheTime) {
  std::vector<Column> step{{.begins = {ms(0), ms(100)}, .own = {0.1, 0.6}, .level = {0.1, 0.4}}};
  RecordedTiming timing(step, {{.column = 0}}, {.length = milliseconds(700), .order = {0}}, {});
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(0), 1.0, 0), ms(100));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(20), 1.0, 1), ms(170));  // 0.1 * 0.6 / 0.4.
}

TEST(RecordedTiming, LevelsThatAreNearlyAlikeAreChance) {
  std::vector<Column> step{{.begins = {ms(0), ms(100)}, .own = {0.1, 0.6}, .level = {0.1, 0.14}}};
  RecordedTiming timing(step, {{.column = 0}}, {.length = milliseconds(700), .order = {0}}, {});
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(0), 1.0, 0), ms(100));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(20), 1.0, 1), ms(620));
}

TEST(RecordedTiming, ReadsBlocksInTheOrderDrawn) {
  const Blocks swapped{.length = milliseconds(2000), .order = {1, 0}};
  EXPECT_EQ(swapped.source(ms(20)), ms(1020));
  EXPECT_EQ(swapped.source(ms(1020)), ms(20));
  EXPECT_EQ(swapped.source(ms(3020)), ms(20));
  RecordedTiming timing = alone(swapped);
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(0), 1.0, 0), ms(110));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(1000), 1.0, 0), ms(1100));
}

TEST(RecordedTiming, ACopyReadsFromLaterOn) {
  RecordedTiming timing = alone(kInOrder, milliseconds(300));
  EXPECT_EQ(timing.finish(WorkerId{0}, ms(0), 1.0, 0), ms(103));
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
