#include "watch/group_feed.h"

#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

using namespace std::chrono_literals;

Board board_of(bool alone) {
  return Board({.name = alone ? "gossip" : "ring",
                .workers = 3,
                .stragglers = alone ? policy::Stragglers::kGoOn : policy::Stragglers::kAwaited});
}
GroupFeed::Report of(std::uint32_t worker, std::uint64_t number, double runtime) {
  return {.worker = WorkerId{worker}, .number = number, .examples = 10, .runtime = runtime};
}
void all_join(GroupFeed& feed, Board& board) {
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    feed.joined(board, Time{}, WorkerId{worker});
  }
}

TEST(GroupFeed, TellsARingsUpdateWhenAllHaveMadeIt) {
  Board board = board_of(false);
  GroupFeed feed(true);
  all_join(feed, board);
  Time now{};
  for (std::uint64_t update = 1; update <= 50; ++update) {
    now += 400ms;
    feed.reported(board, now, of(2, update, 0.4), update - 1);
    feed.reported(board, now, of(0, update, 0.1), update - 1);
    EXPECT_EQ(board.sums().version, update - 1);
    feed.reported(board, now, of(1, update, 0.1), update);
  }
  EXPECT_EQ(board.sums().version, 50U);
  EXPECT_EQ(board.sums().applied, 1500U);
  EXPECT_EQ(board.sums().gradients, 150U);
  EXPECT_EQ(board.staleness(), std::vector<std::uint64_t>{150});
  EXPECT_EQ(board.gain_in_words(), "");
  // Two were done after 100 of 400 ms: each waited 300, in which it could have computed 30.
  EXPECT_NEAR(board.sums().waiting, 50 * 2 * 30.0, 150.0);
  EXPECT_EQ(feed.told(now + 1s), now);
  EXPECT_EQ(feed.told(now + 10s), now + 8s);
}

TEST(GroupFeed, KeepsAReportOfTheNextUpdateForIt) {
  Board board = board_of(false);
  GroupFeed feed(true);
  all_join(feed, board);
  feed.reported(board, Time{100ms}, of(0, 1, 0.1), 0);
  feed.reported(board, Time{100ms}, of(1, 1, 0.1), 0);
  feed.reported(board, Time{150ms}, of(0, 2, 0.05), 0);
  feed.reported(board, Time{151ms}, of(2, 1, 0.1), 1);
  EXPECT_EQ(board.sums().gradients, 3U);
  EXPECT_EQ(board.workers()[0].accepted, 1U);
}

TEST(GroupFeed, GoesOnWithoutAWorkerThatIsGone) {
  Board board = board_of(false);
  GroupFeed feed(true);
  all_join(feed, board);
  feed.reported(board, Time{100ms}, of(0, 1, 0.1), 0);
  feed.reported(board, Time{100ms}, of(2, 1, 0.1), 0);
  feed.left(board, Time{200ms}, WorkerId{2}, policy::Departure::kDead);
  EXPECT_TRUE(board.alarms().is_on(AlarmKind::kDead, WorkerId{2}));
  feed.reported(board, Time{300ms}, of(1, 1, 0.1), 1);
  EXPECT_EQ(board.sums().version, 1U);
  EXPECT_EQ(board.sums().gradients, 2U);
  EXPECT_EQ(board.lanes().doing(WorkerId{2}), Doing::kGone);
}

TEST(GroupFeed, TellsEachGradientOfAGossipAsAnUpdate) {
  Board board = board_of(true);
  GroupFeed feed(false);
  all_join(feed, board);
  for (std::uint64_t i = 1; i <= 30; ++i) {
    feed.reported(board, Time{i * 100ms}, of(i % 3 == 0 ? 1 : 0, i, 0.1), i);
  }
  EXPECT_EQ(board.sums().version, 30U);
  EXPECT_EQ(board.workers()[1].accepted, 10U);
  EXPECT_EQ(board.staleness(), std::vector<std::uint64_t>{30});
  EXPECT_EQ(feed.told(Time{9s}), Time{9s});
}

}  // namespace
}  // namespace outpace::watch
