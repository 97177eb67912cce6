#include "policy/auto.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "policy/auto_candidates.h"
#include "policy/checked_driver_test.h"
#include "policy/switch_spec.h"

namespace outpace::policy {
namespace {

constexpr std::uint32_t kAutoWorkers = 4;

// Rounds in which all answer after a second, and the norms of their gradients.
void run_rounds(CheckedDriver& driver, int rounds, double& seconds) {
  for (int i = 0; i < rounds; ++i) {
    seconds += 1.0;
    for (std::uint32_t worker = 0; worker < kAutoWorkers; ++worker) {
      driver.arrive(worker, {}, at(seconds));
    }
    driver.pass(Measured{Measure::kSingleGradientNorm, 2.0, Version{0}}, at(seconds));
    driver.pass(Measured{Measure::kGradientNorm, 1.5, Version{0}}, at(seconds));
  }
}

TEST(Auto, HasItsCandidatesForPhases) {
  const std::vector<Phase> phases = phases_of(Spec::parse("auto"));
  ASSERT_EQ(phases.size(), kAutoCandidates.size());
  for (std::size_t i = 0; i < phases.size(); ++i) {
    EXPECT_EQ(phases[i].policy.text, kAutoCandidates.at(i).policy);
    EXPECT_EQ(phases[i].balance, kAutoCandidates.at(i).balance);
  }
  EXPECT_EQ(phases.back().words(), "dynamic --balance");
  EXPECT_EQ(chain_of(Spec::parse("auto")).size(), 1U);
}

TEST(Auto, SaysWhatItExpectsOfEach) {
  CheckedDriver driver("auto", kAutoWorkers);
  driver.join_all(kAutoWorkers);
  Expectations found;
  ASSERT_TRUE(driver.policy().expectations(found));
  EXPECT_EQ(found.looks, 0U);
  double seconds = 0.0;
  run_rounds(driver, 60, seconds);
  ASSERT_TRUE(driver.policy().expectations(found));
  EXPECT_GT(found.looks, 3U);
  ASSERT_EQ(found.of.size(), kAutoCandidates.size());
  for (const Expectations::Candidate& candidate : found.of) {
    EXPECT_GT(candidate.expected, 0.0) << candidate.policy;
  }
  // V = 7 / 3, so of 4 gradients a round makes 4 / (4 + phi) of a step in a second.
  EXPECT_NEAR(found.of[0].measured, found.of[0].expected, 0.1 * found.of[0].expected);
  EXPECT_EQ(found.of[3].looks, 0U);
  EXPECT_LT(found.regret, 0.1);
}

TEST(Auto, DoesNotBalanceWhatIsBalanced) {
  for (const BalanceOptions balance : {BalanceOptions{}, BalanceOptions{.most = 2.0}}) {
    const auto policy = make_settable_policy(Spec::parse("auto"), 4, {.balance = balance});
    Expectations found;
    ASSERT_TRUE(policy->expectations(found));
    EXPECT_EQ(found.of.size(), kAutoCandidates.size() - 1);
    for (const Expectations::Candidate& candidate : found.of) {
      EXPECT_EQ(candidate.policy.find("--balance"), std::string::npos) << candidate.policy;
    }
  }
}

TEST(Auto, BalancesOnlyAsFarAsItMay) {
  const auto policy = make_policy(Spec::parse("auto"), 4, {.may_balance = {.most = 1.0}});
  Expectations found;
  ASSERT_TRUE(policy->expectations(found));
  EXPECT_EQ(found.of.size(), kAutoCandidates.size() - 1);
}

// Steps of one gradient are then as long as those of many, but as far only as its noise lets them.
// What the server says of a script's optimizer counts, and not what was thought before.
TEST(Auto, ExpectsLessOfSingleGradientsWhereStepsAreScaleInvariant) {
  const auto expected = [](bool scale_invariant, std::optional<double> told = std::nullopt) {
    CheckedDriver driver(
        make_policy(Spec::parse("auto"), kAutoWorkers, {.scale_invariant = scale_invariant}),
        kAutoBalance);
    driver.join_all(kAutoWorkers);
    if (told) {
      driver.pass(Measured{Measure::kScaleInvariant, *told, Version{0}}, at(0.0));
    }
    double seconds = 0.0;
    run_rounds(driver, 20, seconds);
    Expectations found;
    EXPECT_TRUE(driver.policy().expectations(found));
    return found.of;
  };
  const auto sgd = expected(false);
  const auto adam = expected(true);
  const auto told_sgd = expected(true, 0.0);
  const auto told_adam = expected(false, 1.0);
  // V = 7 / 3 and the squared norm is 2.25 - 7 / 12.
  constexpr double kPhi = 1.4;
  const double less = std::sqrt((1.0 + kPhi / kAutoWorkers) / (1.0 + kPhi));
  for (std::size_t i = 0; i < sgd.size(); ++i) {
    const bool lone = is_asynchronous(Spec::parse(kAutoCandidates.at(i).policy));
    EXPECT_NEAR(adam[i].expected / sgd[i].expected, lone ? less : 1.0, 1e-6) << sgd[i].policy;
    EXPECT_EQ(told_sgd[i].expected, sgd[i].expected);
    EXPECT_EQ(told_adam[i].expected, adam[i].expected);
  }
}

TEST(Auto, IsNoPhaseOfASwitch) {
  EXPECT_THROW((void)phases_of(Spec::parse("switch(sync until updates>10 then auto)")), Error);
}

}  // namespace
}  // namespace outpace::policy
