#include "update/gap.h"

#include <cfloat>
#include <cmath>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "update/correction_twin.h"

namespace outpace::update {
namespace {

constexpr WorkerId kZero{0};

TEST(Gap, LeavesAGradientOfThePresentWeightsAsItIs) {
  Gap gap(0.99, 3);
  const Numbers gradient{1.0F, -FLT_MAX, 0.0F};
  gap.released(kZero, shared({1, 2, 3}));
  EXPECT_EQ(corrected(gap, 0, gradient, {1, 2, 3}), gradient) << "before the first step";
  gap.stepped(Numbers{1, 2, 3}, Numbers{0, 2, 4});
  gap.released(kZero, shared({0, 2, 4}));
  EXPECT_EQ(corrected(gap, 0, gradient, {0, 2, 4}), gradient);
}

// Barkai et al. 2020, the gap and its penalty: with steps of one size and direction the gap is tau,
// and the penalty 1 + tau.
TEST(Gap, DividesByOnePlusTauWhereAllStepsAreAlike) {
  for (const double m : {0.0, 0.5, 0.99}) {
    Gap gap(m, 1);
    gap.released(kZero, shared({0}));
    for (int tau = 1; tau <= 20; ++tau) {
      const auto weight = static_cast<float>(tau);
      gap.stepped(Numbers{weight - 1}, Numbers{weight});
      EXPECT_NEAR(corrected(gap, 0, {1}, {weight})[0], 1.0 / (1.0 + tau), 1e-6) << m;
    }
  }
}

TEST(Gap, DoesNotPunishStalenessOfWeightsThatWentBack) {
  Gap gap(0.99, 2);
  gap.released(kZero, shared({5, 5}));
  gap.stepped(Numbers{5, 5}, Numbers{6, 6});
  gap.stepped(Numbers{6, 6}, Numbers{5, 7});
  // The first is where it was; the second is two steps of 1 away.
  const Numbers found = corrected(gap, 0, {3, 3}, {5, 7});
  EXPECT_EQ(found[0], 3.0F);
  EXPECT_NEAR(found[1], 1.0F, 1e-6);
}

TEST(Gap, MeasuresByTheMeanOfTheSteps) {
  // Steps of 1 and 3; m = 1/2: C = (1/4 * 1 + 1/2 * 3) / (1 - 1/4) = 7/3; G = 1 + 4 / (7/3) = 19/7.
  Gap gap(0.5, 1);
  gap.released(kZero, shared({0}));
  gap.stepped(Numbers{0}, Numbers{1});
  gap.stepped(Numbers{1}, Numbers{4});
  EXPECT_NEAR(corrected(gap, 0, {19}, {4})[0], 7.0, 1e-5);
}

TEST(Gap, NeverTurnsOrLengthensAGradientAndStaysFinite) {
  Gap gap(0.9, 4);
  gap.released(kZero, shared({-FLT_MAX, 0, 0, 1}));
  gap.stepped(Numbers{0, 0, 0, 1}, Numbers{0, FLT_MIN, FLT_MAX, 1});
  // A weight that moved although its steps have none: nothing is known to be near, it counts as 0.
  const Numbers found =
      corrected(gap, 0, {FLT_MAX, -1, FLT_MAX, 1}, {FLT_MAX, FLT_MIN, FLT_MAX, 2});
  EXPECT_EQ(found[0], 0.0F);
  EXPECT_LT(found[1], 0.0F);
  EXPECT_GE(found[1], -1.0F);
  EXPECT_NEAR(found[2] / FLT_MAX, 0.5F, 1e-6);
  EXPECT_EQ(found[3], 0.0F);
}

TEST(Gap, KeepsOneCopyOfAVersionAndFreesItWithItsLastWorker) {
  Gap gap(0.9, 2);
  SharedWeights weights = shared({1, 2});
  const std::weak_ptr<const Numbers> watched = weights;
  gap.released(kZero, weights);
  gap.released(WorkerId{7}, std::exchange(weights, nullptr));
  gap.forget(kZero);
  EXPECT_FALSE(watched.expired());
  gap.forget(WorkerId{7});
  EXPECT_TRUE(watched.expired());
  gap.forget(WorkerId{9});  // It never was.
}

TEST(GapDeathTest, WantsToKnowWhatAWorkerWasReleasedWith) {
  Gap gap(0.9, 1);
  EXPECT_DEATH(corrected(gap, 0, {1}, {1}), "CHECK");
}

// The mean as it is written: all steps, each with its weight.
TEST(Gap, CorrectsLikeAPlainImplementation) {
  const auto twin = [] {
    const auto steps = std::make_shared<std::vector<double>>();
    return PlainCorrection{
        .correct =
            [steps](std::uint32_t /*worker*/, double gradient, double weight, double then) {
              double sum = 0.0;
              double weights = 0.0;
              for (std::size_t t = 0; t < steps->size(); ++t) {
                const double share = std::pow(0.9, static_cast<double>(steps->size() - 1 - t));
                sum += share * (*steps)[t];
                weights += share;
              }
              const double gap = steps->empty() ? 0.0 : std::abs(weight - then) * weights / sum;
              return gradient / (1.0 + gap);
            },
        .stepped = [steps](double before,
                           double after) { steps->push_back(std::abs(after - before)); }};
  };
  // The mean has some 10 terms, and each is rounded three times.
  expect_corrects_like(StalenessRule::parse(Spec::parse("gap:m=0.9")), twin, 40 * FLT_EPSILON);
}

}  // namespace
}  // namespace outpace::update
