#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "watch/board_json.h"
#include "watch/rounds_test.h"

namespace outpace::watch {
namespace {

using nlohmann::json;

TEST(BoardPast, OfARunThatAnotherServerGoesOnWithIsTheWholeRuns) {
  Rounds first;
  first.tell(policy::PolicySet{.policy = "sync"}, {});
  first.rounds(200);
  const std::string kept = whole_frame(first.board);

  Rounds second({.name = "backup:cutoff=2", .workers = 3}, kept);
  EXPECT_EQ(second.board.about().name, "backup:cutoff=2, then sync");
  second.rounds(100);
  EXPECT_EQ(second.board.sums().version, 300U);
  EXPECT_EQ(second.board.sums().applied, 6000U);
  EXPECT_EQ(second.board.sums().live, 3U);
  EXPECT_EQ(second.board.workers()[0].accepted, 300U);
  EXPECT_EQ(second.board.workers()[0].joined, 2U);
  EXPECT_EQ(second.board.restarts(), 0U) << "no worker came back to a server that lived";
  EXPECT_EQ(second.board.staleness()[0], 600U);
  // Its rate is that of the time that was worked: 20 examples each 100 ms.
  EXPECT_NEAR(*second.board.rate(), 200.0, 5.0);
  const json whole = json::parse(whole_frame(second.board));
  EXPECT_EQ(whole["points"].front()[0], 0.0);
  EXPECT_EQ(whole["points"].back()[1], 300);
  EXPECT_EQ(whole["lanes"][0].get<std::string>().size(), 6U * whole["cells"].get<std::size_t>());
  EXPECT_NEAR(whole["cells"].get<double>() * whole["about"]["cell"].get<double>(), 30.0, 0.2);
}

TEST(BoardPast, ThatIsDamagedIsLeftOut) {
  for (const char* damaged :
       {"", "[]", R"({"points":[[1],"x",3],"workers":[7],"lanes":[5],"now":"x"})"}) {
    Board board({.name = "sync", .workers = 3});
    board.remember(damaged);
    EXPECT_EQ(board.sums().applied, 0U);
    EXPECT_EQ(board.about().name, "sync");
  }
}

}  // namespace
}  // namespace outpace::watch
