#include "server/stall.h"

#include <vector>

#include <gtest/gtest.h>

namespace outpace::server {
namespace {

using std::chrono::seconds;

TEST(StallRule, GivesTenMinutesToEachOfTheFirstFiveMiniBatches) {
  const StallRule rule(std::nullopt);
  const std::vector<float> runtimes(4, 1.0F);
  EXPECT_EQ(rule.limit({.ended = 0, .runtimes = {}}), seconds(600));
  EXPECT_EQ(rule.limit({.ended = 4, .runtimes = runtimes}), seconds(600));
  EXPECT_EQ(rule.limit({.ended = 4, .stalls_in_a_row = 1, .runtimes = runtimes}), seconds(1200));
  EXPECT_EQ(rule.limit({.ended = 5, .runtimes = runtimes}), seconds(30));
}

TEST(StallRule, GivesTenTimesTheSlowestOfFewRuntimesAndAtLeastHalfAMinute) {
  const StallRule rule(std::nullopt);
  const std::vector<float> fast{0.1F, 0.2F, 0.1F, 0.1F, 0.1F};
  EXPECT_EQ(rule.limit({.ended = 5, .runtimes = fast}), seconds(30));
  const std::vector<float> slow{4.0F, 6.0F, 4.0F, 4.0F, 4.0F};
  EXPECT_EQ(rule.limit({.ended = 5, .runtimes = slow}), seconds(60));
  EXPECT_EQ(rule.limit({.ended = 5, .runtimes = {}}), seconds(30)) << "all were given up";
}

TEST(StallRule, LooksAtTheLastHundredRuntimesAndLeavesTheSlowestOfThemOut) {
  const StallRule rule(std::nullopt);
  std::vector<float> runtimes(300, 5.0F);
  for (std::size_t i = 0; i < 200; ++i) {
    runtimes[i] = 1000.0F;  // Long ago.
  }
  EXPECT_EQ(rule.limit({.ended = 300, .runtimes = runtimes}), seconds(50));
  runtimes.back() = 600.0F;  // It hung once.
  EXPECT_EQ(rule.limit({.ended = 300, .runtimes = runtimes}), seconds(50));
  runtimes[250] = 7.0F;
  EXPECT_EQ(rule.limit({.ended = 300, .runtimes = runtimes}), seconds(70));
}

TEST(StallRule, DoublesTheLimitWhileAWorkerStallsAgainAndAgain) {
  const StallRule rule(std::nullopt);
  const std::vector<float> runtimes(5, 5.0F);
  const auto after = [&](std::uint32_t stalls) {
    return rule.limit({.ended = 9, .stalls_in_a_row = stalls, .runtimes = runtimes});
  };
  EXPECT_EQ(after(1), seconds(100));
  EXPECT_EQ(after(2), seconds(200));
  EXPECT_EQ(after(4'000'000), seconds(50 * 1024));
}

TEST(StallRule, TakesATimeThatIsGivenForEveryMiniBatch) {
  const StallRule rule(seconds(2));
  EXPECT_EQ(rule.least(), seconds(2));
  EXPECT_EQ(rule.limit({.ended = 0, .runtimes = {}}), seconds(2));
  EXPECT_EQ(rule.limit({.ended = 9, .stalls_in_a_row = 3, .runtimes = {}}), seconds(2));
  EXPECT_EQ(StallRule(std::nullopt).least(), seconds(30));
}

}  // namespace
}  // namespace outpace::server
