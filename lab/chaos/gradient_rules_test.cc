#include "chaos/gradient_rules.h"

#include <gtest/gtest.h>

#include "chaos/history_example_test.h"

namespace outpace::chaos {
namespace {

FinalState four_examples(std::uint64_t epochs) {
  return {.weights = std::vector<float>(4, -static_cast<float>(epochs)), .epochs = epochs};
}

std::string rules(const std::vector<Broken>& broken) {
  std::string all;
  for (const Broken& one : broken) {
    all += (all.empty() ? "" : ", ") + one.rule;
  }
  return all;
}

TEST(ChaosGradientRules, EachExampleIsInTheWeightsOnceAnEpoch) {
  std::vector<Broken> broken;
  check_final_weights(four_examples(3), broken);
  EXPECT_EQ(rules(broken), "");
  FinalState twice = four_examples(3);
  twice.weights[2] -= 1.0F;
  check_final_weights(twice, broken);
  ASSERT_EQ(rules(broken), "exactly once");
  EXPECT_EQ(broken[0].what, "1 of 4 examples are not in the final weights 3 times");
  EXPECT_EQ(broken[0].records[0], "example 2 is in the weights 4 times");
}

TEST(ChaosGradientRules, ARunWithoutWeightsIsBroken) {
  std::vector<Broken> broken;
  check_final_weights({}, broken);
  EXPECT_EQ(rules(broken), "exactly once");
}

std::vector<Broken> of_positions(const HistoryExample& history, std::uint64_t epochs) {
  std::vector<Broken> broken;
  check_positions(follow(history.records()), four_examples(epochs), broken);
  return broken;
}

TEST(ChaosGradientRules, APositionThatIsAcceptedTwiceIsFound) {
  HistoryExample history;
  history.accepted(0, {.sequence = 1, .begin = 0, .end = 4});
  EXPECT_EQ(rules(of_positions(history, 1)), "");
  history.accepted(1, {.sequence = 2, .begin = 3, .end = 4});
  const auto broken = of_positions(history, 1);
  ASSERT_EQ(rules(broken), "exactly once, exactly once");
  EXPECT_EQ(broken[0].what, "position 3 of epoch 0 was accepted twice by generation 1");
  EXPECT_EQ(broken[0].records.size(), 2U);
}

TEST(ChaosGradientRules, APositionThatWasLostWithAServerMayBeAcceptedAgain) {
  HistoryExample history;
  history.accepted(0, {.version = 5, .begin = 0, .end = 4});
  history.server_killed(1, 3);
  EXPECT_EQ(rules(of_positions(history, 1)), "");
  history.accepted(0, {.generation = 2, .version = 3, .begin = 0, .end = 4});
  EXPECT_EQ(rules(of_positions(history, 1)), "");
}

TEST(ChaosGradientRules, APositionThatNobodyPushedIsLost) {
  HistoryExample history;
  history.accepted(0, {.begin = 0, .end = 3});
  EXPECT_EQ(of_positions(history, 1)[0].records[0], "position 3 of epoch 0");
  history.release(1, {.sequence = 2, .begin = 3, .end = 4});
  EXPECT_EQ(rules(of_positions(history, 1)), "nothing lost") << "released, and not pushed";
  history.push(1);
  EXPECT_EQ(rules(of_positions(history, 1)), "") << "unknown: it may be in";
  history.judge(1, "dropped");
  EXPECT_EQ(rules(of_positions(history, 1)), "nothing lost");
}

TEST(ChaosGradientRules, AnUnknownPushAndAnAcceptedOneOfOnePositionAreRight) {
  HistoryExample history;
  history.release(0, {.begin = 0, .end = 4});
  history.push(0);
  history.judge(0, "unknown");
  history.accepted(1, {.sequence = 2, .begin = 0, .end = 4});
  EXPECT_EQ(rules(of_positions(history, 1)), "");
}

TEST(ChaosGradientRules, WeightsThatAreNotWholeAreFoundWhereverTheyAreSeen) {
  HistoryExample history;
  history.release(0, {});
  history.add("evaluator", 90, "evaluated", {{"whole", true}});
  std::vector<Broken> broken;
  check_whole_weights(history.records(), follow(history.records()), broken);
  EXPECT_EQ(rules(broken), "");
  history.release(0, {.sequence = 2, .whole = false});
  history.add("evaluator", 90, "evaluated", {{"whole", false}});
  check_whole_weights(history.records(), follow(history.records()), broken);
  ASSERT_EQ(rules(broken), "whole weights");
  EXPECT_EQ(broken[0].records.size(), 2U);
}

std::string of_versions(const HistoryExample& history) {
  std::vector<Broken> broken;
  check_versions(follow(history.records()), broken);
  return rules(broken);
}

TEST(ChaosGradientRules, AProcessSeesNoVersionGoBackWithinAGeneration) {
  HistoryExample history;
  history.release(0, {.version = 7});
  history.release(1, {.version = 6});
  history.release(0, {.generation = 2, .version = 5});
  EXPECT_EQ(of_versions(history), "");
  history.release(0, {.generation = 2, .version = 4});
  EXPECT_EQ(of_versions(history), "monotonic");
}

TEST(ChaosGradientRules, AnotherProcessOfARankIsALaterIncarnation) {
  HistoryExample history;
  history.release(0, {.incarnation = 1}, 100);
  history.release(0, {.incarnation = 2}, 200);
  EXPECT_EQ(of_versions(history), "");
  history.release(0, {.incarnation = 2}, 300);
  EXPECT_EQ(of_versions(history), "monotonic");
}

std::string of_bits(const HistoryExample& history) {
  std::vector<Broken> broken;
  check_bits(follow(history.records()), broken);
  return rules(broken);
}

TEST(ChaosGradientRules, AVersionHasTheSameBitsForAllAndAfterARestart) {
  HistoryExample history;
  history.release(0, {.version = 7, .crc32c = 1});
  history.release(1, {.version = 7, .crc32c = 1});
  history.release(0, {.generation = 2, .version = 7, .crc32c = 1});
  history.release(0, {.generation = 2, .version = 8, .crc32c = 2});
  EXPECT_EQ(of_bits(history), "");
  HistoryExample other = history;
  history.release(1, {.generation = 2, .version = 8, .crc32c = 3});
  EXPECT_EQ(of_bits(history), "same bits");
  other.release(1, {.generation = 3, .version = 8, .crc32c = 4});
  EXPECT_EQ(of_bits(other), "same bits");
}

std::string of_generations(const HistoryExample& history) {
  std::vector<Broken> broken;
  check_generations(history.records(), follow(history.records()), broken);
  return rules(broken);
}

TEST(ChaosGradientRules, AServerLosesAtMostTwoIntervals) {
  HistoryExample history;  // An interval is 10 updates.
  history.release(0, {.version = 60});
  HistoryExample further = history;
  history.server_killed(1, 40);
  EXPECT_EQ(of_generations(history), "");
  further.release(0, {.version = 61});
  HistoryExample full = further;
  further.server_killed(1, 40);
  EXPECT_EQ(of_generations(further), "bounded loss");
  // While the disk is full there is no checkpoint.
  full.add("chaos", 0, "fault", {{"kind", "disk-full"}});
  full.add("chaos", 0, "healed", {{"kind", "disk-full"}});
  HistoryExample later = full;
  full.server_killed(1, 40);
  EXPECT_EQ(of_generations(full), "");
  later.release(0, {.version = 82});
  later.server_killed(1, 40);
  EXPECT_EQ(of_generations(later), "bounded loss");
}

TEST(ChaosGradientRules, AServerGoesOnFromTheNewestCheckpoint) {
  HistoryExample history;
  history.release(0, {.version = 45});
  history.server_killed(1, 40);
  HistoryExample before = history;
  history.release(0, {.generation = 2, .version = 40});
  EXPECT_EQ(of_generations(history), "");
  before.release(0, {.generation = 2, .version = 30});
  EXPECT_EQ(of_generations(before), "checkpoint kept");
}

}  // namespace
}  // namespace outpace::chaos
