#include "chaos/trail.h"

#include <gtest/gtest.h>

#include "chaos/history_example_test.h"

namespace outpace::chaos {
namespace {

TEST(ChaosTrail, APushWithoutAVerdictIsUnknown) {
  HistoryExample history;
  history.accepted(0, {.sequence = 1});
  history.release(0, {.sequence = 2});
  history.push(0);
  history.release(1, {.sequence = 3});
  history.push(1);
  history.judge(1, "dropped");
  history.release(1, {.sequence = 4});
  const Trail trail = follow(history.records());
  ASSERT_EQ(trail.releases.size(), 4U);
  EXPECT_EQ(trail.releases[0].outcome, Outcome::kAccepted);
  EXPECT_EQ(trail.releases[1].outcome, Outcome::kUnknown);
  EXPECT_EQ(trail.releases[2].outcome, Outcome::kTurnedAway);
  EXPECT_EQ(trail.releases[3].outcome, Outcome::kNotPushed);
}

TEST(ChaosTrail, WhatWasPushedInPartHasTheFirstExamples) {
  HistoryExample history;
  history.release(0, {.begin = 4, .end = 8});
  history.add("worker 0", 100, "pushed", {{"examples", 3}});
  const Trail trail = follow(history.records());
  EXPECT_EQ(trail.releases[0].positions[0].begin, 4U);
  EXPECT_EQ(trail.releases[0].positions[0].end, 7U);
}

// The second server goes on from update 5.
TEST(ChaosTrail, AServerThatDiesTakesWhatCameAfterItsCheckpoint) {
  HistoryExample history;
  history.accepted(0, {.sequence = 1, .version = 3});
  history.accepted(0, {.sequence = 2, .version = 4});  // In update 5, or in 6.
  history.accepted(0, {.sequence = 3, .version = 5});  // In 6 at the earliest.
  history.accepted(1, {.sequence = 4, .version = 4});  // No later release says when.
  history.server_killed(1, 5);
  history.accepted(0, {.generation = 2, .sequence = 1, .version = 5});
  const Trail trail = follow(history.records());
  EXPECT_EQ(trail.generations.at(1).kept, 5U);
  EXPECT_EQ(trail.generations.at(1).last, 5U);
  EXPECT_EQ(trail.fate(trail.releases[0]), Fate::kIn);
  EXPECT_EQ(trail.fate(trail.releases[1]), Fate::kPerhaps);
  EXPECT_EQ(trail.fate(trail.releases[2]), Fate::kLost);
  EXPECT_EQ(trail.fate(trail.releases[3]), Fate::kPerhaps);
  EXPECT_EQ(trail.fate(trail.releases[4]), Fate::kIn);
}

TEST(ChaosTrail, ALaterServerThatGoesFurtherBackTakesOfAllBeforeIt) {
  HistoryExample history;
  history.accepted(0, {.generation = 1, .version = 9});
  history.accepted(0, {.generation = 2, .version = 8});
  history.accepted(0, {.generation = 3, .version = 4});
  const Trail trail = follow(history.records());
  EXPECT_EQ(trail.generations.at(1).kept, 4U);
  EXPECT_EQ(trail.generations.at(2).kept, 4U);
  EXPECT_EQ(trail.generations.at(3).kept, UINT64_MAX);
}

}  // namespace
}  // namespace outpace::chaos
