#include "compare/curve.h"

#include <gtest/gtest.h>

namespace outpace::compare {
namespace {

TEST(Curve, OfOneRunIsTheRun) {
  EXPECT_EQ(curve_of({{{1.0, 0.5}, {2.0, 0.75}}}),
            (std::vector<CurvePoint>{{1.0, 0.5, 0.5, 0.5}, {2.0, 0.75, 0.75, 0.75}}));
}

TEST(Curve, IsTheMeanBetweenEvaluationsAndHoldsWhatARunEndedWith) {
  // The second run is first evaluated at 2 s and ends at 4 s.
  const auto curve = curve_of({{{1.0, 0.25}, {3.0, 0.75}, {5.0, 1.0}}, {{2.0, 0.25}, {4.0, 0.5}}});
  EXPECT_EQ(curve,
            (std::vector<CurvePoint>{{2.0, 0.375, 0.25, 0.5},
                                     {3.0, 0.5625, 0.375, 0.75},
                                     {4.0, 0.6875, 0.5, 0.875},
                                     {5.0, 0.75, 0.5, 1.0}}));
}

TEST(Curve, RunsWithoutEvaluationsAreLeftOut) {
  EXPECT_TRUE(curve_of({}).empty());
  EXPECT_TRUE(curve_of({{}}).empty());
  EXPECT_EQ(curve_of({{}, {{1.0, 0.5}}}).size(), 1);
}

}  // namespace
}  // namespace outpace::compare
