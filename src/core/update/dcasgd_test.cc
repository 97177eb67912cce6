#include "update/dcasgd.h"

#include <cfloat>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "update/correction_twin.h"

namespace outpace::update {
namespace {

constexpr WorkerId kRival{0};
constexpr WorkerId kOne{1};
constexpr DcAsgd::Options kConstant{.form = DcAsgd::Form::kConstant, .lambda = 0.5, .m = 0};
constexpr DcAsgd::Options kAdaptive{.form = DcAsgd::Form::kAdaptive, .lambda = 2, .m = 0.75};

// Zheng et al. 2017, section 4: w - eta * (g + lambda * g * g * (w - w_bak)).
TEST(DcAsgd, AddsTheSquareTimesTheMove) {
  DcAsgd rule(kConstant, 2);
  rule.released(kRival, shared({1, 1}));
  // 2 + 0.5 * 4 * 3 = 8; -2 + 0.5 * 4 * -2 = -6
  EXPECT_EQ(corrected(rule, 0, {2, -2}, {4, -1}), (Numbers{8, -6}));
}

TEST(DcAsgd, DividesByTheRootOfTheMeanSquareWhenAdaptive) {
  DcAsgd rule(kAdaptive, 1);
  rule.released(kRival, shared({0}));
  // s = 1/4 * 16 = 4; 4 + 2 / 2 * 16 * 1 = 20
  EXPECT_NEAR(corrected(rule, 0, {4}, {1})[0], 20.0, 1e-5);
  rule.released(kRival, shared({1}));
  // s = 3/4 * 4 + 1/4 * 24 = 9 for g^2 = 24: g + 2 / 3 * 24 * 0.5
  const float gradient = std::sqrt(24.0F);
  EXPECT_NEAR(corrected(rule, 0, {gradient}, {1.5F})[0], double{gradient} + 8.0, 1e-5);
}

TEST(DcAsgd, LeavesAGradientOfThePresentWeightsAsItIs) {
  for (const DcAsgd::Options& options : {kConstant, kAdaptive}) {
    DcAsgd rule(options, 4);
    rule.released(kRival, shared({1, 2, -3, 0}));
    const Numbers gradient{1.5F, FLT_MAX, -FLT_MAX, 0};
    EXPECT_EQ(corrected(rule, 0, gradient, {1, 2, -3, 0}), gradient);
  }
}

TEST(DcAsgd, IsPlainAsynchronousSgdWithLambdaZero) {
  DcAsgd rule({.form = DcAsgd::Form::kConstant, .lambda = 0, .m = 0}, 2);
  rule.released(kRival, shared({1, FLT_MAX}));
  EXPECT_EQ(corrected(rule, 0, {3, FLT_MAX}, {100, -FLT_MAX}), (Numbers{3, FLT_MAX}));
}

TEST(DcAsgd, LeavesOutATermThatIsNoNumber) {
  for (const DcAsgd::Options& options : {kConstant, kAdaptive}) {
    DcAsgd rule(options, 2);
    rule.released(kRival, shared({0, -FLT_MAX}));
    const Numbers found = corrected(rule, 0, {1e30F, 1}, {1e30F, FLT_MAX});
    EXPECT_TRUE(std::isfinite(found[0]));
    EXPECT_EQ(found[1], 1.0F);  // The move itself is beyond float32.
    rule.released(kRival, shared({0, 0}));
    EXPECT_EQ(corrected(rule, 0, {0, 0}, {1, -1}), (Numbers{0, 0})) << "no gradient, no term";
  }
}

TEST(DcAsgd, KnowsEachWorkersWeightsAndSquares) {
  DcAsgd rule(kAdaptive, 1);
  rule.released(kRival, shared({0}));
  rule.released(kOne, shared({1}));
  (void)corrected(rule, 0, {100}, {1});
  // Worker 1 was released with 1, and its s is its own: 1/4 * 16 = 4; 4 + 2 / 2 * 16 * 1.
  EXPECT_NEAR(corrected(rule, 1, {4}, {2})[0], 20.0, 1e-5);
}

TEST(DcAsgd, ForgetsAWorkerThatIsGone) {
  DcAsgd rule(kAdaptive, 1);
  SharedWeights weights = shared({0});
  const std::weak_ptr<const Numbers> watched = weights;
  rule.released(kRival, std::exchange(weights, nullptr));
  (void)corrected(rule, 0, {100}, {1});
  rule.forget(kRival);
  EXPECT_TRUE(watched.expired());
  rule.forget(WorkerId{9});            // It never was.
  rule.released(kRival, shared({0}));  // Come back, it begins with s = 0.
  EXPECT_NEAR(corrected(rule, 0, {4}, {1})[0], 20.0, 1e-5);
}

PlainCorrection plain(bool adaptive) {
  const auto squares = std::make_shared<std::map<std::uint32_t, double>>();
  return {.correct =
              [=](std::uint32_t worker, double g, double weight, double then) {
                double lambda = 2.0;
                if (adaptive) {
                  double& s = (*squares)[worker];
                  s = 0.9 * s + 0.1 * g * g;
                  lambda /= std::sqrt(s + 1e-7);
                }
                return g + lambda * g * g * (weight - then);
              },
          .stepped = [](double /*before*/, double /*after*/) {}};
}

// A handful of roundings, of the gradient and of a term that is no longer than it by much.
TEST(DcAsgd, CorrectsLikeAPlainImplementation) {
  expect_corrects_like(
      StalenessRule::parse(Spec::parse("dcasgd:lambda=2")),
      [] { return plain(false); },
      20 * FLT_EPSILON);
  // The mean square has some 10 terms, each rounded three times.
  expect_corrects_like(
      StalenessRule::parse(Spec::parse("dcasgd:adaptive,m=0.9")),
      [] { return plain(true); },
      40 * FLT_EPSILON);
}

}  // namespace
}  // namespace outpace::update
