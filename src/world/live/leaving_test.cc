#include "live/leaving.h"

#include <chrono>
#include <csignal>
#include <future>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::live {
namespace {

using std::chrono::milliseconds;
using worker::CancelMode;

constexpr milliseconds kNever = std::chrono::hours(1);

TEST(Leaving, WithoutASessionTheProcessEndsAtOnce) {
  std::optional<int> ended;
  Leaving leaving({.end_as_it_is = [&](int code) { ended = code; }});
  EXPECT_FALSE(leaving.asked());
  leaving.ask(SIGTERM);
  EXPECT_EQ(ended, 0);
  std::optional<int> interrupted;
  Leaving other({.end_as_it_is = [&](int code) { interrupted = code; }});
  other.ask(SIGINT);
  EXPECT_EQ(interrupted, 128 + SIGINT);
}

TEST(Leaving, ASessionIsAskedForItsPartOnce) {
  Leaving leaving({.to_finish_part = kNever});
  std::vector<CancelMode> heard;
  leaving.on_ask([&](CancelMode how) { heard.push_back(how); });
  leaving.ask(SIGTERM);
  leaving.ask(SIGTERM);
  EXPECT_EQ(heard, std::vector<CancelMode>{CancelMode::kKeepPart});
  // A session that comes later is told at once.
  leaving.on_ask(nullptr);
  leaving.on_ask([&](CancelMode how) { heard.push_back(how); });
  EXPECT_EQ(heard.size(), 2U);
}

TEST(Leaving, OneThatTakesTooLongHandsItsMiniBatchBackAndThenEndsAsItIs) {
  std::promise<int> ended;
  std::promise<void> handed_back;
  Leaving leaving({.to_finish_part = milliseconds(1),
                   .to_hand_back = milliseconds(1),
                   .end_as_it_is = [&](int code) { ended.set_value(code); }});
  leaving.on_ask([&](CancelMode how) {
    if (how == CancelMode::kAbandon) {
      handed_back.set_value();
    }
  });
  leaving.ask(SIGTERM);
  handed_back.get_future().wait();
  EXPECT_EQ(ended.get_future().get(), 0);
}

TEST(Leaving, OneThatLeavesInTimeIsNotEnded) {
  bool ended = false;
  {
    Leaving leaving(
        {.to_finish_part = kNever, .end_as_it_is = [&](int /*code*/) { ended = true; }});
    leaving.on_ask([](CancelMode /*how*/) {});
    leaving.ask(SIGTERM);
    leaving.on_ask(nullptr);
  }
  EXPECT_FALSE(ended);
}

}  // namespace
}  // namespace outpace::live
