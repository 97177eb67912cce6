#include "job/plan_job.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

std::string refusal_of_plan(const Declared<PlanJob>& plan,
                            ProfileKind kind = ProfileKind::kMeasured) {
  return refusal_of([&] { check(plan.options, plan.job, kind); });
}

TEST(PlanJob, IsRightByDefault) {
  const Declared<PlanJob> plan;
  EXPECT_EQ(refusal_of_plan(plan), "accepted");
  EXPECT_EQ(plan.job.workers.counts.size(), 32);
  EXPECT_EQ(plan.job.objective, Objective::kRate);
}

TEST(PlanJob, RefusesCostsBeyondTheirEnds) {
  Declared<PlanJob> plan;
  for (const char* wrong : {"0", "-1", "1e308", "nan", "dear"}) {
    EXPECT_NE(refusal_of([&] { plan.give("worker-cost", wrong); }).find("--worker-cost is '"),
              std::string::npos)
        << wrong;
  }
  EXPECT_NE(refusal_of([&] { plan.give("server-cost", "-1"); }).find("--server-cost is '-1'"),
            std::string::npos);
  plan.give("server-cost", "0");
  EXPECT_EQ(plan.job.server_cost, 0.0);
}

TEST(PlanJob, TakesATargetAboveZero) {
  for (const char* wrong : {"0", "-5"}) {
    Declared<PlanJob> plan;
    plan.give("target", wrong);
    EXPECT_EQ(
        refusal_of_plan(plan),
        "--target is " + std::string(wrong) + "; it takes a number of examples per second above 0");
  }
}

TEST(PlanJob, TakesTheNoiseScaleOnceAndForGoodputAlone) {
  Declared<PlanJob> without;
  without.give("objective", "goodput");
  EXPECT_NE(refusal_of_plan(without).find("add --noise-scale 850, in examples, or --noise-from"),
            std::string::npos);
  without.give("noise-scale", "10");
  EXPECT_EQ(refusal_of_plan(without), "accepted");
  without.give("noise-from", "run");
  EXPECT_EQ(refusal_of_plan(without),
            "--noise-scale conflicts with --noise-from: both give the noise scale; remove one");

  Declared<PlanJob> zero;
  zero.give("objective", "goodput").give("noise-scale", "0");
  EXPECT_EQ(refusal_of_plan(zero), "--noise-scale is 0; it takes a number of examples above 0");

  for (const char* option : {"noise-scale", "noise-from"}) {
    Declared<PlanJob> rate;
    rate.give(option, "10");
    EXPECT_EQ(refusal_of_plan(rate),
              "--" + std::string(option) +
                  " conflicts with --objective rate: it is for goodput; remove it, or say "
                  "--objective goodput");
  }
}

TEST(PlanJob, RefusesOptionsOfTheOtherKindOfProfile) {
  Declared<PlanJob> batch;
  batch.give("batch", "8");
  EXPECT_NE(refusal_of_plan(batch).find("--batch conflicts with a measured profile"),
            std::string::npos);
  EXPECT_EQ(refusal_of_plan(batch, ProfileKind::kCalibrated), "accepted");
  Declared<PlanJob> shards;
  shards.give("shards", "2");
  EXPECT_EQ(refusal_of_plan(shards), "accepted");
  EXPECT_NE(refusal_of_plan(shards, ProfileKind::kCalibrated)
                .find("--shards conflicts with a calibrated profile"),
            std::string::npos);
}

TEST(PlanJob, IsHeldToTheMostWorkersOfAModelButNotOfATable) {
  Declared<PlanJob> plan;
  plan.give("workers", "20000");
  EXPECT_NE(refusal_of_plan(plan).find("each number from 1 to 10000"), std::string::npos);
  EXPECT_EQ(refusal_of_plan(plan, ProfileKind::kCalibrated), "accepted");
}

}  // namespace
}  // namespace outpace::job
