#include "compare/config.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/refusal_test.h"

namespace outpace::compare {
namespace {

const KnownOptions kKnown{
    .live = {"policy", "seed", "delays", "out", "json", "lr", "batch", "slow", "network"},
    .simulated = {"policy", "seed", "delays", "out", "json", "lr", "runtime", "learn"}};

Config parse(const std::string& text) {
  return parse_config(text, "c.toml", kKnown);
}

std::string refusal(const std::string& text) {
  return refusal_of([&] { (void)parse(text); });
}

TEST(Config, ReadsEverything) {
  const Config config = parse(R"([compare]
mode = "live"
policies = ["sync", "ssp:s=3"]
seeds = [1, 7]
delays = {calm = "t/a.csv", bursty = "t/b.csv"}
lr = 0.1
slow = ["worker=1,factor=2", "worker=2,factor=3"]

[[policy]]
policy = "ssp:s=3"
lr = 0.05

[[policy]]
policy = "async"
name = "async, half"
lr = 0.5
)");
  EXPECT_EQ(config.mode, Mode::kLive);
  EXPECT_EQ(config.seeds, (std::vector<std::uint64_t>{1, 7}));
  ASSERT_EQ(config.traces.size(), 2);  // In the order of their names, as TOML tables are.
  EXPECT_EQ(config.traces[0].name, "bursty");
  EXPECT_EQ(config.traces[1].path, "t/a.csv");
  EXPECT_EQ(config.traces[1].line, 5);
  ASSERT_EQ(config.options.size(), 2);
  EXPECT_EQ(config.options[0].values, std::vector<std::string>{"0.1"});
  EXPECT_EQ(config.options[1].values.size(), 2);
  ASSERT_EQ(config.rows.size(), 3);
  EXPECT_EQ(config.rows[0].name, "sync");
  EXPECT_TRUE(config.rows[0].options.empty());
  EXPECT_EQ(config.rows[1].options.at(0).values, std::vector<std::string>{"0.05"});
  EXPECT_EQ(config.rows[1].line, 9);
  EXPECT_EQ(config.rows[2].name, "async, half");
  EXPECT_EQ(config.rows[2].policy, "async");
}

TEST(Config, ARowIsWhereItsPolicyStands) {
  const Config config =
      parse("[compare]\nmode = 'live'\npolicies = [\n  'sync',\n  'async',\n]\nseeds = [1]\n");
  EXPECT_EQ(config.rows.at(0).line, 4);
  EXPECT_EQ(config.rows.at(1).line, 5);
}

TEST(Config, TracesOfAListAreCalledAsTheirFiles) {
  const Config config = parse(
      "[compare]\nmode = 'simulated'\npolicies = 'sync'\nseeds = 3\ndelays = ['a/calm.csv']\n");
  ASSERT_EQ(config.traces.size(), 1);
  EXPECT_EQ(config.traces[0].name, "calm");
  EXPECT_EQ(config.traces[0].path, "a/calm.csv");
  EXPECT_EQ(config.rows.size(), 1);
}

TEST(Config, WithoutDelaysThereIsOneTraceWithoutAName) {
  const Config config =
      parse("[compare]\nmode = 'simulated'\npolicies = ['sync']\nseeds = [1]\nnetwork = 'mlp'\n");
  ASSERT_EQ(config.traces.size(), 1);
  EXPECT_EQ(config.traces[0].name, "");
}

TEST(Config, WhatIsWrongIsNamedWithItsLine) {
  const std::string head = "[compare]\nmode = 'live'\npolicies = ['sync']\n";
  EXPECT_EQ(refusal(head + "seeds = [1]\nbach = 3\n"),
            "c.toml:5: unknown key 'bach'; did you mean 'batch'?");
  EXPECT_EQ(refusal(head + "seeds = [1]\nseed = 3\n"),
            "c.toml:5: unknown key 'seed'; did you mean 'seeds'?");
  EXPECT_EQ(refusal(head + "seeds = [1]\nruntime = 'x'\n"),
            "c.toml:5: unknown key 'runtime'; see docs/compare.md");
  EXPECT_EQ(refusal(head + "seeds = [1]\n[[policy]]\npolicy = 'async'\nbtach = 1\n"),
            "c.toml:7: unknown key 'btach'; did you mean 'batch'?");
  EXPECT_EQ(refusal(head), "c.toml:1: seeds is missing; such as seeds = [1, 2, 3]");
  EXPECT_EQ(refusal(head + "seeds = []\n"), "c.toml:4: seeds is empty; such as seeds = [1, 2, 3]");
  EXPECT_EQ(refusal(head + "seeds = [1, -2]\n"),
            "c.toml:4: seeds has '-2'; it takes whole numbers from 0 on");
  EXPECT_EQ(refusal(head + "seeds = [1, 1]\n"), "c.toml:4: seeds has 1 twice");
  EXPECT_EQ(refusal(head + "seeds = [1]\ndelays = ['a/x.csv', 'b/x.csv']\n"),
            "c.toml:5: two traces are called 'x'; name them: delays = {NAME = PATH}");
  EXPECT_EQ(refusal("[compare]\nmode = 'lively'\n"),
            "c.toml:2: mode is 'lively'; it takes live or simulated");
  EXPECT_EQ(refusal("[compare]\nmode = 'live'\nseeds = [1]\n"),
            "c.toml:1: policies is missing; such as policies = [\"sync\", \"async\"]");
  EXPECT_EQ(refusal("[compare]\nmode = 'live'\npolicies = ['sync', 'sync']\nseeds = [1]\n"),
            "c.toml:3: policies has 'sync' twice");
  EXPECT_EQ(refusal("[comparison]\n"),
            "c.toml:1: unknown key 'comparison'; the file has [compare], [[policy]] and [[group]]");
  EXPECT_EQ(refusal(""), "c.toml:1: the table [compare] is missing");
  EXPECT_EQ(refusal("compare = 3\n"), "c.toml:1: compare must be a table: [compare]");
  EXPECT_TRUE(refusal(head + "seeds = = 2\n").starts_with("c.toml:4: "));
}

TEST(Config, ATableOfAPolicySaysWhichAndOnce) {
  const std::string head = "[compare]\nmode = 'live'\npolicies = ['sync']\nseeds = [1]\n";
  EXPECT_EQ(refusal(head + "[[policy]]\nlr = 1\n"),
            "c.toml:5: [[policy]] without a policy; such as policy = \"ssp:s=3\"");
  EXPECT_EQ(refusal(head + "[[policy]]\npolicy = 'a'\n[[policy]]\npolicy = 'a'\n"),
            "c.toml:7: two [[policy]] are called 'a'; give one another name");
  EXPECT_EQ(refusal(head + "[[policy]]\npolicy = 'async'\nname = 'sync'\n"),
            "c.toml:5: the name 'sync' is that of another policy in policies");
  EXPECT_EQ(refusal(head + "[policy]\npolicy = 'sync'\n"),
            "c.toml:5: policy must be tables: [[policy]]");
}

TEST(Config, GroupsAreInTheirOrderAndMayShareRows) {
  const Config config = parse(
      "[compare]\nmode = 'live'\npolicies = ['sync', 'async', 'ssp']\nseeds = [1]\n"
      "[[group]]\nname = 'others'\nrows = ['ssp', 'sync']\n"
      "[[group]]\nname = 'all alone'\nrows = 'ssp'\n");
  ASSERT_EQ(config.groups.size(), 2);
  EXPECT_EQ(config.groups[0].name, "others");
  EXPECT_EQ(config.groups[0].rows, (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(config.groups[1].rows, (std::vector<std::size_t>{2}));
}

TEST(Config, AGroupHasRowsThatThereAreAndNotTooMany) {
  const std::string head =
      "[compare]\nmode = 'live'\npolicies = ['1','2','3','4','5','6','7','sync']\nseeds = [1]\n";
  const std::string group = head + "[[group]]\n";
  EXPECT_EQ(parse(group + "rows = ['sync']\n").groups.at(0).name, "");
  EXPECT_EQ(refusal(group),
            "c.toml:5: [[group]] without rows; such as rows = [\"sync\", \"dynamic\"]");
  EXPECT_EQ(refusal(group + "rows = ['snyc']\n"),
            "c.toml:6: no row is called 'snyc'; did you mean 'sync'?");
  EXPECT_EQ(refusal(group + "rows = ['1', '1']\n"), "c.toml:6: rows has '1' twice");
  EXPECT_EQ(refusal(group + "rows = ['1','2','3','4','5','6','7','sync']\n"),
            "c.toml:6: rows has 8 names; a group has at most 7, or nobody tells their colours "
            "apart");
  EXPECT_EQ(refusal(group + "row = ['sync']\n"),
            "c.toml:6: unknown key 'row'; did you mean 'rows'?");
  EXPECT_EQ(refusal(group + "rows = ['1']\n[[group]]\nrows = ['2']\n"),
            "c.toml:5: [[group]] without a name; such as name = \"asynchronous\"");
  EXPECT_EQ(refusal(group + "name = 'a'\nrows = '1'\n[[group]]\nname = 'a'\nrows = '2'\n"),
            "c.toml:8: two [[group]] are called 'a'");
  EXPECT_EQ(refusal(head + "[group]\nrows = '1'\n"), "c.toml:5: group must be tables: [[group]]");
}

}  // namespace
}  // namespace outpace::compare
