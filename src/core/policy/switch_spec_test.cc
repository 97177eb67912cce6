#include "policy/switch_spec.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::policy {
namespace {

std::vector<Phase> phases(const std::string& text) {
  return phases_of(Spec::parse(text));
}

std::string refusal(const std::string& text) {
  return refusal_of([&] { (void)phases(text); });
}

TEST(SwitchSpec, IsAChainOfPoliciesAndConditions) {
  const auto chain = phases(
      "switch(async until loss<0.6 then sync until updates>2000 then saps:s=3,action=shrink)");
  ASSERT_EQ(chain.size(), 3U);
  EXPECT_EQ(chain[0].policy.text, "async");
  EXPECT_EQ(*chain[0].until,
            (Condition{.what = Watched::kTrainingLoss, .above = false, .bound = 0.6}));
  EXPECT_EQ(chain[1].policy.text, "sync");
  EXPECT_EQ(*chain[1].until, (Condition{.what = Watched::kUpdates, .above = true, .bound = 2000}));
  EXPECT_EQ(chain[2].policy.text, "saps:s=3,action=shrink");
  EXPECT_EQ(phases("switch(async until seconds>90 then sync)")[0].until->bound, 90);
  EXPECT_EQ(phases("switch(async until seconds>1.5m then sync)")[0].until->bound, 90);
  EXPECT_FALSE(chain[2].until);
}

TEST(SwitchSpec, MayHaveBlanksAroundTheSignAndMoreThanOne) {
  const auto chain = phases("switch(  async  until test-accuracy > 0.8 then sync )");
  EXPECT_EQ(*chain[0].until,
            (Condition{.what = Watched::kTestAccuracy, .above = true, .bound = 0.8}));
}

TEST(SwitchSpec, OfAnyOtherPolicyIsThatOne) {
  const auto lone = phases("ssp:s=3");
  ASSERT_EQ(lone.size(), 1U);
  EXPECT_EQ(lone[0].policy.text, "ssp:s=3");
  EXPECT_FALSE(lone[0].until);
}

TEST(SwitchSpec, NeverHoldsAtTheBoundItself) {
  EXPECT_FALSE((Condition{Watched::kUpdates, true, 3}).holds_at(3));
  EXPECT_TRUE((Condition{Watched::kUpdates, true, 3}).holds_at(4));
  EXPECT_FALSE((Condition{Watched::kTestLoss, false, 3}).holds_at(3));
  EXPECT_TRUE((Condition{Watched::kTestLoss, false, 3}).holds_at(2.9));
}

TEST(SwitchSpec, SaysWhatIsMissing) {
  const std::string form = "; the form is switch(POLICY until CONDITION then POLICY)";
  EXPECT_EQ(refusal("switch(async sync)"),
            "policy 'switch(async sync)': 'until' is missing after 'async'" + form);
  EXPECT_EQ(refusal("switch(async)"),
            "policy 'switch(async)': 'until' is missing after 'async'" + form);
  EXPECT_EQ(refusal("switch(async until loss<1)"),
            "policy 'switch(async until loss<1)': 'then' is missing after 'loss<1'" + form);
  EXPECT_EQ(refusal("switch(async until loss<1 then)"),
            "policy 'switch(async until loss<1 then)': a policy is missing after 'then'" + form);
  EXPECT_EQ(refusal("switch(until loss<1 then sync)"),
            "policy 'switch(until loss<1 then sync)': a policy is missing" + form);
  EXPECT_EQ(refusal("switch"),
            "policy 'switch': until is missing; it takes switch(POLICY until "
            "CONDITION then POLICY)");
  EXPECT_EQ(refusal("switch( )"), "policy 'switch( )': a policy is missing" + form);
}

TEST(SwitchSpec, SaysWhatAConditionIs) {
  for (const char* condition : {"loss<x",
                                "loss<",
                                "loss",
                                "los<1",
                                "<1",
                                "loss=1",
                                "loss<1<2",
                                "loss<nan",
                                "loss<=1",
                                ""}) {
    const std::string text = std::string("switch(async until ") + condition + " then sync)";
    EXPECT_EQ(refusal(text),
              "policy '" + text + "': the condition '" + condition +
                  "' is not loss, test-loss, test-accuracy, updates or seconds, then < or >, then "
                  "a number; write such as loss<0.6; the form is switch(POLICY until CONDITION "
                  "then POLICY)");
  }
}

TEST(SwitchSpec, IsNotNested) {
  const std::string text = "switch(async until loss<1 then switch(sync until loss<1 then async))";
  EXPECT_NE(refusal(text).find("a switch within a switch; write one chain"), std::string::npos);
}

TEST(SwitchSpec, KnowsWhetherItWaitsForLearning) {
  const auto waits = [](const char* text) { return waits_for_learning(Spec::parse(text)); };
  EXPECT_FALSE(waits("async"));
  EXPECT_FALSE(waits("switch(async until updates>2 then sync until seconds>9 then async)"));
  EXPECT_TRUE(waits("switch(async until updates>2 then sync until loss<9 then async)"));
  EXPECT_TRUE(waits("switch(async until test-accuracy>0.5 then sync)"));
}

TEST(SwitchSpec, KnowsWhetherItWaitsForAnEvaluator) {
  const auto waits = [](const char* text) { return waits_for_evaluator(Spec::parse(text)); };
  EXPECT_FALSE(waits("async"));
  EXPECT_FALSE(waits("switch(async until loss<9 then sync until seconds>9 then async)"));
  EXPECT_TRUE(waits("switch(async until updates>2 then sync until test-loss<9 then async)"));
  EXPECT_TRUE(waits("switch(async until test-accuracy>0.5 then sync)"));
}

TEST(SwitchSpec, KnowsWhetherItWaitsForATestLoss) {
  const auto waits = [](const char* text) { return waits_for_test_loss(Spec::parse(text)); };
  EXPECT_FALSE(waits("adasync"));
  EXPECT_FALSE(waits("adasync:k=2,loss=training"));
  EXPECT_FALSE(waits("switch(async until test-accuracy>0.5 then sync)"));
  EXPECT_TRUE(waits("adasync:k=2,loss=test"));
  EXPECT_TRUE(waits("switch(sync until test-loss<9 then async)"));
  EXPECT_TRUE(waits("switch(sync until updates>9 then adasync:loss=test)"));
}

}  // namespace
}  // namespace outpace::policy
