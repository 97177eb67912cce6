#include "watch/board_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "watch/rounds_test.h"

namespace outpace::watch {
namespace {

TEST(BoardJson, GivesEverythingFirstAndThenWhatIsNew) {
  Rounds run({.name = "a\"<b>", .workers = 3});
  run.rounds(20);
  Cursor cursor;
  const auto first = nlohmann::json::parse(frame(run.board, cursor));
  EXPECT_TRUE(first["begins"]);
  EXPECT_EQ(first["about"]["name"], "a\"<b>");
  EXPECT_EQ(first["lanes"].size(), 3U);
  EXPECT_EQ(first["lanes"][0].get<std::string>().size(), 6U * first["cells"].get<std::size_t>());
  EXPECT_EQ(first["decisions"].size(), Board::kTold);
  EXPECT_EQ(first["decisions"][0][3], "because");
  EXPECT_EQ(first["workers"][2]["longer"], true);
  EXPECT_EQ(first["points"].size(), run.board.course().points().size());
  const auto again = nlohmann::json::parse(frame(run.board, cursor));
  EXPECT_FALSE(again["begins"]);
  EXPECT_TRUE(again["points"].empty());
  EXPECT_EQ(again["cells"], 0);
  EXPECT_TRUE(again["decisions"].empty());
  run.round();
  const auto third = nlohmann::json::parse(frame(run.board, cursor));
  EXPECT_EQ(third["decisions"].size(), 3U);
  EXPECT_EQ(third["cells"], 1);
}

TEST(BoardJson, GivesAllPointsAgainWhenTheyWereThinnedOut) {
  Rounds run;
  Cursor cursor;
  (void)frame(run.board, cursor);
  run.rounds(8000);  // 800 s, a point each half second.
  const auto json = nlohmann::json::parse(frame(run.board, cursor));
  EXPECT_TRUE(json["points_again"]);
  EXPECT_EQ(json["points"].size(), run.board.course().points().size());
}

}  // namespace
}  // namespace outpace::watch
