#include "policy/lag_bound.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::policy {
namespace {

LagBound::Rule read(const std::string& text) {
  const Spec spec = Spec::parse(text);
  SpecReader options("policy", spec);
  const LagBound::Rule rule = LagBound::read(options);
  options.finish();
  return rule;
}

LagBound with_workers(const std::string& text, std::uint32_t workers) {
  LagBound bound(read(text), workers);
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    bound.join(WorkerId{worker});
  }
  return bound;
}

TEST(LagBound, IsTwiceTheOthersThatLive) {
  LagBound bound = with_workers("saps", 32);
  EXPECT_EQ(bound.now(), 62U);
  bound.leave(WorkerId{5});
  EXPECT_EQ(bound.now(), 60U);
  EXPECT_EQ(with_workers("saps", 1).now(), 1U);
  EXPECT_EQ(bound.take_warning(), std::nullopt);
}

TEST(LagBound, IsTheNumberThatIsGiven) {
  LagBound bound = with_workers("saps:s=7", 4);
  bound.answered(WorkerId{0}, 100);
  EXPECT_EQ(bound.now(), 7U);
}

TEST(LagBound, IsAMultipleOfTheMedianLagOnceAllHaveAnswered) {
  LagBound bound = with_workers("saps:s=2.5x", 3);
  EXPECT_EQ(bound.now(), 4U) << "as for equal workers, until it knows";
  bound.answered(WorkerId{0}, 3);
  bound.answered(WorkerId{1}, 5);
  EXPECT_EQ(bound.now(), 4U);
  bound.answered(WorkerId{2}, 400);
  EXPECT_EQ(bound.now(), 13U);  // ceil(2.5 * 5)
  bound.join(WorkerId{3});
  EXPECT_EQ(bound.now(), 13U);
  bound.join(WorkerId{4});
  bound.join(WorkerId{5});
  bound.join(WorkerId{6});
  bound.join(WorkerId{7});
  EXPECT_EQ(bound.now(), 14U) << "eight workers are up to 14 behind";
}

TEST(LagBound, BeginsAnewWhenNobodyIsLeft) {
  LagBound bound = with_workers("saps:s=3x", 1);
  bound.answered(WorkerId{0}, 50);
  EXPECT_EQ(bound.now(), 150U);
  bound.leave(WorkerId{0});
  EXPECT_EQ(bound.now(), 1U);
}

TEST(LagBound, WarnsOnceOfTheShareThatANumberDropsOfEqualWorkers) {
  LagBound bound(read("saps:s=12"), 32);
  for (std::uint32_t worker = 0; worker < 31; ++worker) {
    bound.join(WorkerId{worker});
    EXPECT_EQ(bound.take_warning(), std::nullopt) << "not all have come";
  }
  bound.join(WorkerId{31});
  EXPECT_EQ(bound.take_warning(),
            "saps: s=12 drops about 59 % of the gradients of 32 equal workers, which are 31 "
            "versions behind on average; leave s out, or give s=62");
  EXPECT_EQ(bound.take_warning(), std::nullopt);
  EXPECT_EQ(with_workers("saps:s=31", 32).take_warning(), std::nullopt);
}

TEST(LagBound, RefusesWhatIsNeitherANumberNorAMultiple) {
  for (const char* wrong : {"0", "2.5", "x", "0.5x", "101x", "-1x", "many"}) {
    const std::string text = std::string("saps:s=") + wrong;
    EXPECT_EQ(refusal_of([&] { (void)read(text); }),
              "policy '" + text + "': s is '" + wrong +
                  "'; it takes a whole number from 1 to 1000000, or a multiple from 1x to 100x");
  }
}

}  // namespace
}  // namespace outpace::policy
