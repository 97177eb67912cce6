#include "watch/lanes.h"

#include <chrono>

#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

using namespace std::chrono_literals;

constexpr WorkerId kFirst{0};
constexpr WorkerId kSecond{1};

std::string cells(const Lanes& lanes, WorkerId worker, std::uint64_t first = 0) {
  std::string text;
  lanes.write(worker, first, text);
  return text;
}

TEST(Lanes, SayWhichPartOfACellWasSpentOnWhat) {
  Lanes lanes({.cell = 100ms, .kept = 8});
  lanes.become(Time{0ms}, kFirst, Doing::kComputing);
  lanes.become(Time{80ms}, kFirst, Doing::kWaiting);
  lanes.become(Time{200ms}, kFirst, Doing::kGone);
  lanes.advance(Time{300ms});
  EXPECT_EQ(lanes.closed(), 3U);
  // 80 ms of computing are 12 fifteenths; then only waiting; then it is gone.
  EXPECT_EQ(cells(lanes, kFirst),
            "c03000"
            "00f000"
            "0000f0");
  EXPECT_DOUBLE_EQ(lanes.waited(kFirst), 0.12);
}

TEST(Lanes, SplitComputingByWhatTheWorkerSaysOfSending) {
  Lanes lanes({.cell = 100ms, .kept = 8});
  lanes.become(Time{0ms}, kFirst, Doing::kComputing);
  lanes.set_sending(kFirst, 0.2);
  lanes.advance(Time{100ms});
  EXPECT_EQ(cells(lanes, kFirst), "c30000");
}

TEST(Lanes, ShowACancelThatTookNoTime) {
  Lanes lanes({.cell = 100ms, .kept = 8});
  lanes.become(Time{0ms}, kFirst, Doing::kComputing);
  lanes.become(Time{50ms}, kFirst, Doing::kCancelled);
  lanes.become(Time{50ms}, kFirst, Doing::kComputing);
  lanes.advance(Time{100ms});
  EXPECT_EQ(cells(lanes, kFirst), "c00300");
}

TEST(Lanes, KeepTheNewestCells) {
  Lanes lanes({.cell = 100ms, .kept = 2});
  lanes.become(Time{0ms}, kFirst, Doing::kComputing);
  lanes.become(Time{350ms}, kFirst, Doing::kStalled);
  lanes.advance(Time{500ms});
  EXPECT_EQ(lanes.oldest(), 3U);
  EXPECT_EQ(cells(lanes, kFirst, 3),
            "800008"
            "00000f");
}

TEST(Lanes, PassOverALongSilence) {
  Lanes lanes({.cell = 100ms, .kept = 2});
  lanes.become(Time{0ms}, kFirst, Doing::kWaiting);
  lanes.advance(Time::max());
  EXPECT_EQ(lanes.closed(), static_cast<std::uint64_t>(Time::max().time_since_epoch() / 100ms));
  EXPECT_EQ(cells(lanes, kFirst, lanes.oldest()),
            "00f000"
            "00f000");
  EXPECT_GT(lanes.waited(kFirst), 9e9);
}

TEST(Lanes, KnowNothingOfTheTimeBeforeAWorkerCame) {
  Lanes lanes({.cell = 100ms, .kept = 4});
  lanes.become(Time{0ms}, kFirst, Doing::kComputing);
  lanes.become(Time{200ms}, kSecond, Doing::kComputing);
  lanes.advance(Time{300ms});
  EXPECT_EQ(cells(lanes, kSecond),
            "000000"
            "000000"
            "f00000");
}

TEST(Lanes, OfTheWholeRunBecomeLongerCells) {
  Lanes lanes({.cell = 100ms, .kept = 4, .whole = true});
  lanes.become(Time{0ms}, kFirst, Doing::kComputing);
  lanes.become(Time{300ms}, kFirst, Doing::kWaiting);
  lanes.advance(Time{400ms});
  EXPECT_DOUBLE_EQ(lanes.cell_seconds(), 0.2);
  // The second cell of 200 ms was half computing and half waiting.
  EXPECT_EQ(cells(lanes, kFirst),
            "f00000"
            "808000");
  lanes.advance(Time{100s});
  EXPECT_LT(lanes.closed(), 4U);
  EXPECT_NEAR(static_cast<double>(lanes.closed()) * lanes.cell_seconds(), 100.0, 30.0);
  Lanes again({.kept = 4, .whole = true});
  again.read(lanes.cell_seconds(), {cells(lanes, kFirst)});
  EXPECT_EQ(cells(again, kFirst), cells(lanes, kFirst));
  again.become(Time{100s}, kFirst, Doing::kComputing);
  EXPECT_EQ(again.closed(), lanes.closed());
}

}  // namespace
}  // namespace outpace::watch
