#include "update/schedule.h"

#include <cstdint>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/refusal_test.h"

namespace outpace::update {
namespace {

Schedule schedule(const std::string& spec) {
  return Schedule::parse(Spec::parse(spec));
}

std::string schedule_refusal(const std::string& spec) {
  return refusal_of([&] { std::ignore = schedule(spec); });
}

TEST(Schedule, IsConstantByDefault) {
  EXPECT_EQ(Schedule().factor(0), 1.0);
  EXPECT_EQ(schedule("constant").factor(0), 1.0);
  EXPECT_EQ(schedule("constant").factor(UINT64_MAX), 1.0);
}

TEST(Schedule, StepsDownEveryEExamples) {
  const Schedule step = schedule("step:every=100,factor=0.5");
  EXPECT_EQ(step.factor(0), 1.0);
  EXPECT_EQ(step.factor(99), 1.0);
  EXPECT_EQ(step.factor(100), 0.5);
  EXPECT_EQ(step.factor(399), 0.125);
  EXPECT_NEAR(schedule("step:100").factor(250), 0.01, 1e-15);
  EXPECT_EQ(schedule("step:every=1,factor=0").factor(0), 1.0);
  EXPECT_EQ(schedule("step:every=1,factor=0").factor(1), 0.0);
  EXPECT_GE(step.factor(UINT64_MAX), 0.0);
}

TEST(Schedule, FollowsACosineDownToItsFloorAndStaysThere) {
  const Schedule cosine = schedule("cosine:over=300,floor=0.2");
  EXPECT_EQ(cosine.factor(0), 1.0);
  EXPECT_NEAR(cosine.factor(100), 0.8, 1e-15);  // cos(pi / 3) = 1/2: 0.2 + 0.8 * 0.75
  EXPECT_NEAR(cosine.factor(150), 0.6, 1e-15);
  EXPECT_EQ(cosine.factor(300), 0.2);
  EXPECT_EQ(cosine.factor(1000000), 0.2);
  EXPECT_EQ(schedule("cosine:300").factor(300), 0.0);
}

TEST(Schedule, WarmsUpWithoutShiftingTheCourse) {
  const Schedule constant = schedule("constant:warmup=10");
  EXPECT_EQ(constant.factor(0), 0.0);
  EXPECT_EQ(constant.factor(5), 0.5);
  EXPECT_EQ(constant.factor(10), 1.0);
  const Schedule step = schedule("step:every=100,factor=0.5,warmup=200");
  EXPECT_EQ(step.factor(50), 0.25);
  EXPECT_EQ(step.factor(150), 0.375);
  EXPECT_EQ(step.factor(200), 0.25);
  EXPECT_EQ(schedule("cosine:over=100,warmup=10").factor(60), schedule("cosine:100").factor(60));
}

TEST(Schedule, LiesBetweenZeroAndOne) {
  for (const char* spec : {"constant:warmup=7", "step:every=3,warmup=5", "cosine:over=77"}) {
    for (std::uint64_t examples = 0; examples < 500; ++examples) {
      EXPECT_GE(schedule(spec).factor(examples), 0.0) << spec << " at " << examples;
      EXPECT_LE(schedule(spec).factor(examples), 1.0) << spec << " at " << examples;
    }
  }
}

TEST(Schedule, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(schedule_refusal("cosin:5"), "unknown schedule 'cosin'; did you mean 'cosine'?");
  EXPECT_EQ(schedule_refusal("cosine"),
            "schedule 'cosine': over is missing; it takes a whole number of at least 1");
  EXPECT_EQ(schedule_refusal("cosine:over=0"),
            "schedule 'cosine:over=0': over is '0'; it takes a whole number of at least 1");
  EXPECT_EQ(schedule_refusal("step:every=10,factor=2"),
            "schedule 'step:every=10,factor=2': factor is '2'; it takes a number from 0 to 1");
  EXPECT_EQ(schedule_refusal("step:every=10,warmp=2"),
            "schedule 'step:every=10,warmp=2': unknown option 'warmp'; did you mean 'warmup'?");
}

TEST(RateScale, IsTheShareOfANominalUpdateOrItsRoot) {
  EXPECT_EQ(rate_scale(RateScale::kNone, 1, 4), 1.0);
  EXPECT_EQ(rate_scale(RateScale::kSqrt, 1, 4), 0.5);
  EXPECT_EQ(rate_scale(RateScale::kLinear, 1, 4), 0.25);
  EXPECT_EQ(rate_scale(RateScale::kLinear, 8, 4), 2.0);
  for (const RateScale scale : {RateScale::kNone, RateScale::kSqrt, RateScale::kLinear}) {
    EXPECT_EQ(rate_scale(scale, 256, 256), 1.0);
  }
}

}  // namespace
}  // namespace outpace::update
