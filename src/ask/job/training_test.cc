#include "job/training.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

using Given = Declared<Training>;

Resolved resolved(const Training& training, const Membership& membership = {}) {
  return resolve(training, membership, {.workers_max = 64});
}

std::string refusal(const Given& given, const Membership& membership = {}) {
  return refusal_of([&] { (void)resolved(given.job, membership); });
}

TEST(Training, TheDefaultIsDynamicForFiveEpochs) {
  const Given given;
  const Resolved found = resolved(given.job);
  EXPECT_EQ(found.policy.text, "dynamic");
  EXPECT_EQ(found.coordinator.limits.epochs, 5);
  EXPECT_EQ(found.coordinator.rate, 0.1);
  EXPECT_EQ(found.shard.reduce, update::Reduce::kWorkerOrder);
}

TEST(Training, LocalStepsTakeTheOptimizerAndTheServerTakesAnOuterOne) {
  Given given;
  given.give("local-steps", "50");
  given.give("optimizer", "adam");
  given.give("lr", "0.01");
  given.give("weight-decay", "0.5");
  given.give("schedule", "step:every=1000,factor=0.1");
  const Resolved found = resolved(given.job);
  ASSERT_TRUE(found.coordinator.local_steps.has_value());
  const server::LocalSteps& local = *found.coordinator.local_steps;
  EXPECT_EQ(local.most, 50U);
  EXPECT_EQ(local.optimizer, "adam");
  EXPECT_EQ(local.rate, 0.01);
  EXPECT_EQ(local.weight_decay, 0.5);
  EXPECT_DOUBLE_EQ(local.schedule.factor(1000), 0.1);
  EXPECT_EQ(found.shard.optimizer.text, "nesterov:mu=0.9,over=delayed");
  EXPECT_EQ(found.coordinator.rate, 0.7);
  EXPECT_EQ(found.coordinator.schedule.factor(1000), 1.0);
  EXPECT_EQ(found.shard.weight_decay, 0.0);
  EXPECT_EQ(found.policy_inputs.local_steps, 50U);
  EXPECT_FALSE(resolved(Given().job).coordinator.local_steps.has_value());
  EXPECT_EQ(resolved(Given().job).policy_inputs.local_steps, 0U);
}

TEST(Training, TheDefaultOuterOptimizerSuitsEveryPhaseOfThePolicy) {
  for (const auto& [policy, expected] :
       {std::pair{"sync", "nesterov:mu=0.9,lr=0.7"},
        {"dynamic", "nesterov:mu=0.9,lr=0.7"},
        {"backup:cutoff=6", "nesterov:mu=0.9,lr=0.7"},
        {"async", "nesterov:mu=0.5,lr=0.7"},
        {"saps:s=8", "nesterov:mu=0.5,lr=0.7"},
        {"switch(sync until updates>9 then ssp:s=3)", "nesterov:mu=0.5,lr=0.7"}}) {
    Given given;
    given.give("local-steps", "50").give("policy", policy);
    EXPECT_EQ(outer_optimizer_in_force(given.job), expected) << policy;
    given.give("outer-optimizer", "sgd:lr=1");
    EXPECT_EQ(outer_optimizer_in_force(given.job), "sgd:lr=1") << policy;
  }
}

TEST(Training, RefusesMomentumAtEveryPushWherePushesAreStale) {
  Given given;
  given.give("local-steps", "50").give("outer-optimizer", "nesterov:mu=0.9,over=update");
  EXPECT_EQ(refusal(given.give("policy", "sync")), "accepted");
  EXPECT_EQ(refusal(given.give("policy", "async")),
            "--outer-optimizer nesterov:mu=0.9,over=update conflicts with --policy async: momentum "
            "at every push diverges; remove over=update");
}

TEST(Training, RefusesWhatDoesNotGoWithLocalSteps) {
  Given without;
  without.give("outer-optimizer", "sgd:lr=1");
  EXPECT_EQ(refusal(without),
            "--outer-optimizer without --local-steps; add --local-steps, or remove it");
  Given scaled;
  scaled.give("local-steps", "2");
  scaled.give("lr-scale", "linear");
  EXPECT_EQ(refusal(scaled),
            "--lr-scale linear conflicts with --local-steps 2, where --lr is the rate of each "
            "worker's own steps; remove --lr-scale");
  Given large;
  large.give("local-steps", "1048576");
  EXPECT_EQ(refusal(large),
            "--local-steps 1048576 of --batch 32 are more than 1,048,576 examples between two "
            "pushes; lower one of them");
  Given wrong;
  wrong.give("local-steps", "2");
  wrong.give("optimizer", "adamm");
  EXPECT_NE(refusal(wrong).find("did you mean 'adam'"), std::string::npos);
}

TEST(Training, ATargetGivesItTimeAndAnotherLimitReplacesTheDefault) {
  Given given;
  given.give("target-accuracy", "0.8");
  EXPECT_EQ(resolved(given.job).coordinator.limits.epochs, 50);
  given.give("updates", "7");
  EXPECT_EQ(resolved(given.job).coordinator.limits.epochs, 0);
}

TEST(Training, AnAsynchronousPolicySharesAStepAndAddsOnArrival) {
  Given given;
  given.give("policy", "async");
  EXPECT_EQ(staleness_in_force(given.job), "share");
  EXPECT_FALSE(resolved(given.job).coordinator.staleness.has_value());
  EXPECT_EQ(resolved(given.job).shard.reduce, update::Reduce::kArrival);
  given.give("staleness", "none").give("reduce", "order");
  EXPECT_EQ(staleness_in_force(given.job), "none");
  EXPECT_EQ(resolved(given.job).coordinator.staleness->name(), "none");
  EXPECT_EQ(resolved(given.job).shard.reduce, update::Reduce::kWorkerOrder);
}

TEST(Training, EachPhaseOfASwitchHasARuleOfItsOwn) {
  for (const auto& [policy, rules] :
       {std::pair{"ssp:s=3", "share"},
        {"psp:beta=8,s=0", "share"},
        {"switch(sync until updates>100 then ssp:s=0)", "none then share"},
        {"switch(async until updates>9 then saps:s=8)", "share"}}) {
    Given given;
    given.give("policy", policy);
    EXPECT_EQ(staleness_in_force(given.job), rules);
  }
}

TEST(Training, AutoBalancesMiniBatchesAsFarAsItMay) {
  EXPECT_EQ(resolved(Given().job).policy_inputs.may_balance, policy::kAutoBalance);
  Given given;
  given.give("policy", "auto").give("balance-most", "3");
  EXPECT_EQ(resolved(given.job).policy_inputs.may_balance.most, 3.0);
  EXPECT_FALSE(resolved(given.job).policy_inputs.balance.has_value());
  Training script{.policy = Spec::parse("auto"), .may_balance = kOneSize};
  EXPECT_EQ(resolved(script).policy_inputs.may_balance.most, 1.0);
}

TEST(Training, KnowsOptimizersThatIgnoreAGradientsLength) {
  EXPECT_FALSE(scale_invariant(Given().job));
  EXPECT_FALSE(scale_invariant(Given().give("optimizer", "momentum").job));
  EXPECT_TRUE(scale_invariant(Given().give("optimizer", "adamw").job));
  EXPECT_FALSE(scale_invariant({.optimizer = Spec::parse(kScriptOptimizer)}));
  EXPECT_FALSE(scale_invariant(Given().give("optimizer", "adam").give("local-steps", "4").job));
}

TEST(Training, YellowfinScalesTheRateThatItFinds) {
  Given given;
  given.give("optimizer", "yellowfin");
  EXPECT_EQ(rate_in_force(given.job), 1.0);
}

TEST(Training, RefusesWhatDoesNotGoTogether) {
  EXPECT_EQ(refusal(Given().give("workers", "65")),
            "--workers is 65; it takes a whole number from 1 to 64");
  EXPECT_EQ(refusal(Given().give("workers", "2"), {.min_workers = 3}),
            "--min-workers is 3; it takes a whole number from 1 to --workers, 2");
  EXPECT_EQ(refusal(Given().give("balance-most", "2").give("policy", "dynamic")),
            "--balance-most without --balance; add --balance, or remove it");
  EXPECT_NE(refusal(Given().give("past-target", "true")).find("--past-target without"),
            std::string::npos);
  EXPECT_NE(refusal(Given().give("runtime-model", "m").give("policy", "sync"))
                .find("--runtime-model conflicts with --policy sync"),
            std::string::npos);
  EXPECT_NE(
      refusal(Given().give("balance", "true").give("policy", "async").give("lr-scale", "linear"))
          .find("--lr-scale linear conflicts with --balance"),
      std::string::npos);
  EXPECT_NE(
      refusal(Given().give("policy", "sync").give("filter", "median").give("reduce", "arrival"))
          .find("--reduce arrival conflicts with --filter median"),
      std::string::npos);
}

}  // namespace
}  // namespace outpace::job
