#include "chaos/checker.h"

#include <gtest/gtest.h>

#include "chaos/history_example_test.h"

namespace outpace::chaos {
namespace {

// Two workers, two epochs of four examples; the server dies once, after update 3 and with a
// checkpoint of 2.
HistoryExample whole_run() {
  HistoryExample history;
  history.accepted(0, {.sequence = 1, .version = 0, .begin = 0, .end = 2});
  history.accepted(1, {.sequence = 2, .version = 1, .begin = 2, .end = 4});
  history.accepted(0, {.sequence = 3, .version = 2, .epoch = 1, .begin = 0, .end = 2});
  history.release(1, {.sequence = 4, .version = 3, .epoch = 1, .begin = 2, .end = 4});
  history.add("chaos", 0, "fault", {{"kind", "kill"}, {"target", "server"}});
  history.server_killed(1, 2);
  history.add("server", 51, "started", {{"start", 2}, {"again", true}});
  history.accepted(0, {.generation = 2, .version = 2, .epoch = 1, .begin = 2, .end = 4});
  history.accepted(1, {.generation = 2, .version = 3, .epoch = 1, .begin = 0, .end = 2});
  return history;
}

constexpr std::uint64_t kEpochs = 2;

TEST(ChaosChecker, AWholeRunBreaksNothing) {
  const HistoryExample history = whole_run();
  const auto broken = check(history.records(), {.weights = {-2, -2, -2, -2}, .epochs = kEpochs});
  EXPECT_TRUE(broken.empty()) << broken.front().rule << ": " << broken.front().what;
}

TEST(ChaosChecker, EveryRuleIsAsked) {
  HistoryExample history = whole_run();
  history.release(0, {.generation = 2, .version = 1, .crc32c = 77, .whole = false});
  history.add("worker 0", 100, "ended", {{"code", 1}, {"as_told", false}});
  history.add("chaos", 0, "overdue", {});
  history.add("chaos", 0, "left", {});
  history.add("server", 51, "memory", {{"bytes", 1001}});
  std::string rules;
  for (const Broken& one :
       check(history.records(), {.weights = {-2, -2, -2, -3}, .epochs = kEpochs + 1})) {
    rules += one.rule + "; ";
  }
  for (const char* rule : {"exactly once",
                           "nothing lost",
                           "whole weights",
                           "monotonic",
                           "checkpoint kept",
                           "same bits",
                           "no untold end",
                           "no hang",
                           "no orphan",
                           "bounded memory"}) {
    EXPECT_NE(rules.find(rule), std::string::npos) << rule << " in " << rules;
  }
}

TEST(ChaosChecker, Counts) {
  HistoryExample history = whole_run();
  history.add("chaos", 0, "skipped", {{"kind", "stop"}});
  const Totals totals = count(history.records());
  EXPECT_EQ(totals.faults, (std::map<std::string, std::uint64_t>{{"kill", 1}}));
  EXPECT_EQ(totals.skipped, 1U);
  EXPECT_EQ(totals.restarts, (std::map<std::string, std::uint64_t>{{"server", 1}}));
  EXPECT_EQ(totals.updates, 3U);
  EXPECT_EQ(totals.lost_updates, 1U);
  EXPECT_EQ(totals.lost_most, 1U);
  EXPECT_EQ(totals.accepted, 5U);
  EXPECT_EQ(totals.unknown, 0U);
}

}  // namespace
}  // namespace outpace::chaos
