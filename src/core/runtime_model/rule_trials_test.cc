#include "runtime_model/rule_trials.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::runtime_model {
namespace {

// Three workers take 0.1 s and one takes 1 s.
Trace uneven_trace(std::size_t rows) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < rows; ++i) {
    seconds.insert(seconds.end(), {0.1, 0.1, 0.1, 1.0});
  }
  return {seconds, 4};
}

TEST(RuleTrials, TryEachModelUnderEachRuleBetweenSyncAndTheOracle) {
  const auto tried =
      try_rules(uneven_trace(40),
                {.models = {"ewma", "last"}, .decide = {Decide::kBefore, Decide::kDuring}},
                {.fit_rows = 20});
  ASSERT_EQ(tried.size(), 3 + 2 * 2);
  EXPECT_EQ(tried[0].model, "sync");
  EXPECT_FALSE(tried[0].decide);
  EXPECT_DOUBLE_EQ(tried[0].result.omega, 4.0);
  EXPECT_EQ(tried[1].model, "best_fixed");
  EXPECT_NEAR(tried[1].result.omega, 30.0, 1e-9);
  EXPECT_EQ(tried[2].model, "ewma");
  EXPECT_EQ(tried[2].decide, Decide::kBefore);
  EXPECT_EQ(tried[5].model, "last");
  EXPECT_EQ(tried[5].decide, Decide::kDuring);
  EXPECT_EQ(tried[6].model, "oracle");
  EXPECT_NEAR(tried[6].result.omega, 30.0, 1e-9);
  for (const TriedRule& one : tried) {
    EXPECT_EQ(one.result.rows.size(), 20) << one.model;
  }
  EXPECT_GT(tried[2].result.omega, 20.0);
}

TEST(RuleTrials, WatchTheFirstModelUnderTheLastRule) {
  std::size_t watched = 0;
  (void)try_rules(uneven_trace(30),
                  {.models = {"ewma", "last"}, .decide = {Decide::kBefore, Decide::kDuring}},
                  {.fit_rows = 20, .watch = [&](const TrialView& view) {
                     EXPECT_EQ(view.row, 20 + watched);
                     ++watched;
                   }});
  EXPECT_EQ(watched, 10);
}

TEST(RuleTrials, ImputeWhatWasCutOff) {
  const auto tried = try_rules(
      uneven_trace(40),
      {.models = {"ewma"}, .decide = {Decide::kBefore}, .imputation = {Imputation::kTruncated}},
      {.fit_rows = 20, .cut = Cut::kFinish, .late_corrects = false});
  EXPECT_GT(tried[2].result.omega, 4.0);
}

TEST(RuleTrials, RevealWhatWasCutOffOnlyWithTheTrueRuntimes) {
  const auto tried =
      try_rules(uneven_trace(40),
                {.models = {"elfving-truncated"},
                 .decide = {Decide::kBefore},
                 .imputation = {Imputation::kNone, Imputation::kPlain, Imputation::kTrue}},
                {.fit_rows = 20});
  ASSERT_EQ(tried.size(), 3 + 3);
  EXPECT_EQ(tried[2].imputation, Imputation::kNone);
  EXPECT_EQ(tried[4].imputation, Imputation::kTrue);
  // Shown 1 s each time, the moments stay; shown the cutoff, sigma shrinks to nothing.
  EXPECT_GT(tried[2].result.crps, tried[4].result.crps);
}

TEST(RuleTrials, RefuseAnUnknownModelBeforeTheyTryAnything) {
  std::size_t watched = 0;
  EXPECT_NE(refusal_of([&] {
              (void)try_rules(
                  uneven_trace(30),
                  {.models = {"ewma", "switchin"}, .decide = {Decide::kDuring}},
                  {.fit_rows = 20, .watch = [&](const TrialView& /*view*/) { ++watched; }});
            }).find("did you mean 'switching'?"),
            std::string::npos);
  EXPECT_EQ(watched, 0);
}

}  // namespace
}  // namespace outpace::runtime_model
