#include "compare/run_list.h"

#include <set>

#include <gtest/gtest.h>

namespace outpace::compare {
namespace {

Config two_by_two() {
  return {.path = "c.toml",
          .mode = Mode::kSimulated,
          .rows = {{.name = "sync", .policy = "sync", .options = {}, .line = 3},
                   {.name = "slow async",
                    .policy = "async",
                    .options = {{.name = "lr", .values = {"0.05"}, .line = 12}},
                    .line = 10}},
          .seeds = {1, 2},
          .traces = {{.name = "calm", .path = "t/calm.csv", .line = 5},
                     {.name = "bursty", .path = "t/bursty.csv", .line = 6}},
          .options = {{.name = "lr", .values = {"0.1"}, .line = 7},
                      {.name = "lr-scale", .values = {"sqrt"}, .line = 8}}};
}

TEST(Plan, IsEveryRowTraceAndSeedSeedBySeed) {
  const Config config = two_by_two();
  const std::vector<Cell> cells = cells_of(config);
  ASSERT_EQ(cells.size(), 8);
  std::vector<std::string> names;
  for (const Cell& cell : cells) {
    names.push_back(name_of(config, cell));
  }
  EXPECT_EQ(names[0], "calm, sync, seed 1");
  EXPECT_EQ(names[1], "calm, slow async, seed 1");
  EXPECT_EQ(names[2], "bursty, sync, seed 1");
  EXPECT_EQ(names[4], "calm, sync, seed 2");
}

TEST(Plan, TheWordsAreThoseOfTheCommandWithTheRowsOwnOptions) {
  const std::vector<Cell> cells = cells_of(two_by_two());
  EXPECT_EQ(identity_of(cells[0]),
            (std::vector<std::string>{"simulate",
                                      "--policy=sync",
                                      "--seed=1",
                                      "--delays=t/calm.csv",
                                      "--learn=mlp",
                                      "--lr=0.1",
                                      "--lr-scale=sqrt"}));
  EXPECT_EQ(identity_of(cells[1])[5], "--lr=0.05");
}

TEST(Plan, ALiveRunIsATrainingWithItsNetworkAndEveryValueOfARepeatedOption) {
  Config config = two_by_two();
  config.mode = Mode::kLive;
  config.traces = {{.name = "", .path = "", .line = 1}};
  config.options = {{.name = "network", .values = {"cnn"}, .line = 2},
                    {.name = "slow", .values = {"a", "b"}, .line = 3}};
  const std::vector<Cell> cells = cells_of(config);
  EXPECT_EQ(identity_of(cells[0]),
            (std::vector<std::string>{
                "train", "--policy=sync", "--seed=1", "--network=cnn", "--slow=a", "--slow=b"}));
  EXPECT_EQ(cells[0].place, "no-trace/sync/seed-1");
}

TEST(Plan, WithoutANetworkNothingIsLearnt) {
  Config config = two_by_two();
  config.options = {{.name = "network", .values = {"none"}, .line = 2}};
  const std::vector<std::string> words = identity_of(cells_of(config)[0]);
  EXPECT_EQ(words.size(), 4);
  EXPECT_EQ(words.back(), "--delays=t/calm.csv");
}

TEST(Plan, NoTwoCellsHaveTheSamePlace) {
  Config config = two_by_two();
  config.rows[0].name = "ssp:s=3";
  config.rows[1].name = "ssp-s-3";
  std::set<std::string> places;
  for (const Cell& cell : cells_of(config)) {
    places.insert(cell.place);
  }
  EXPECT_EQ(places.size(), 8);
  EXPECT_TRUE(places.contains("calm/ssp-s-3/seed-1"));
  EXPECT_TRUE(places.contains("calm/ssp-s-3-2/seed-1"));
}

TEST(Plan, AnObjectionIsToTheLineOfTheOptionThatItNames) {
  const Config config = two_by_two();
  const std::vector<Cell> cells = cells_of(config);
  EXPECT_EQ(line_of(config, cells[0], "--lr takes a number from 0 to 1e6"), 7);
  EXPECT_EQ(line_of(config, cells[1], "--lr takes a number from 0 to 1e6"), 12);
  EXPECT_EQ(line_of(config, cells[0], "--lr-scale is 'sqrt'"), 8);
  EXPECT_EQ(line_of(config, cells[0], "--delays t/calm.csv: cannot be read"), 5);
  EXPECT_EQ(line_of(config, cells[2], "t/bursty.csv:3: column 2 is '-1'"), 6);
  EXPECT_EQ(line_of(config, cells[1], "unknown policy 'asinc'"), 10);
  EXPECT_EQ(line_of(config, cells[1], "unknown rate 'sqrt'; did you mean 'sqr'?"), 8);
}

}  // namespace
}  // namespace outpace::compare
