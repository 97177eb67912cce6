#include "chaos/process_rules.h"

#include <gtest/gtest.h>

#include "chaos/history_example_test.h"

namespace outpace::chaos {
namespace {

TEST(ChaosProcessRules, AProcessEndsOnlyWhenItIsToldTo) {
  HistoryExample history;
  history.add("worker 1", 101, "ended", {{"code", 137}, {"as_told", true}});
  std::vector<Broken> broken;
  check_ends(history.records(), broken);
  EXPECT_TRUE(broken.empty());
  history.add(
      "worker 1", 102, "ended", {{"code", 134}, {"as_told", false}, {"why", "CHECK failed"}});
  check_ends(history.records(), broken);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].rule, "no untold end");
  EXPECT_EQ(broken[0].what, "worker 1 ended with exit code 134: CHECK failed");
}

TEST(ChaosProcessRules, ARankWhoseOldProcessCountsAsAliveMayRefuse) {
  HistoryExample history;
  history.add("worker 1",
              101,
              "ended",
              {{"code", 1},
               {"as_told", false},
               {"why", "outpace: worker 1 is alive at host:99; end that process first"}});
  std::vector<Broken> broken;
  check_ends(history.records(), broken);
  EXPECT_TRUE(broken.empty());
}

TEST(ChaosProcessRules, AMinuteWithoutAnAcceptedGradientIsAHang) {
  HistoryExample history;
  history.accepted(0, {.sequence = 1});
  history.wait(59'000'000);
  history.accepted(0, {.sequence = 2});
  std::vector<Broken> broken;
  check_hangs(history.records(), follow(history.records()), broken);
  EXPECT_TRUE(broken.empty());
  history.wait(61'000'000);
  history.accepted(0, {.sequence = 3});
  check_hangs(history.records(), follow(history.records()), broken);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].what, "no gradient was accepted for 61.0 s");
}

TEST(ChaosProcessRules, WhatChaosWaitedForInVainIsAHang) {
  HistoryExample history;
  history.add("chaos", 0, "overdue", {{"waited_for", "the server's end"}, {"seconds", 30}});
  std::vector<Broken> broken;
  check_hangs(history.records(), follow(history.records()), broken);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].what, "after 30 s still waiting: the server's end");
}

TEST(ChaosProcessRules, AProcessThatOutlivesTheRunIsAnOrphan) {
  HistoryExample history;
  std::vector<Broken> broken;
  check_orphans(history.records(), broken);
  EXPECT_TRUE(broken.empty());
  history.add("chaos", 0, "left", {{"processes", "4711"}});
  check_orphans(history.records(), broken);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].rule, "no orphan");
}

TEST(ChaosProcessRules, TheServersMemoryIsBounded) {
  HistoryExample history;
  history.add("server", 50, "memory", {{"bytes", 1000}});
  std::vector<Broken> broken;
  check_memory(history.records(), broken);
  EXPECT_TRUE(broken.empty());
  history.add("server", 50, "memory", {{"bytes", 1001}});
  check_memory(history.records(), broken);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].rule, "bounded memory");
}

}  // namespace
}  // namespace outpace::chaos
