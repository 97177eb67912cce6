#include "throughput/pass_marks.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

TEST(PassMarks, GivesEachLayerItsForwardAndBackwardPass) {
  // Two layers: forward 1 + 2 (with the loss), backward 8 for the last and 4 for the first.
  const std::vector<PassMarks> passes = {{10.0, {10.25, 11.0, 13.0, 21.0}, 25.0}};
  const std::vector<MeasuredLayer> expected = {{1.0, 4.0}, {2.0, 8.0}};
  EXPECT_EQ(layers_of(passes), expected);
}

TEST(PassMarks, TakesTheMedianOfThePasses) {
  const std::vector<PassMarks> passes = {
      {0.0, {0.0, 1.0}, 3.0}, {0.0, {0.0, 5.0}, 6.0}, {0.0, {0.0, 2.0}, 9.0}};
  const std::vector<MeasuredLayer> expected = {{2.0, 2.0}};
  EXPECT_EQ(layers_of(passes), expected);
}

TEST(PassMarks, DoesNotKnowLayersThatDoNotReturnAsTheyWent) {
  EXPECT_TRUE(layers_of(std::vector<PassMarks>{}).empty());
  EXPECT_TRUE(layers_of(std::vector<PassMarks>{{0.0, {0.0}, 1.0}}).empty());
  EXPECT_TRUE(
      layers_of(std::vector<PassMarks>{{0.0, {0.0, 1.0}, 3.0}, {0.0, {0, 1, 2, 3}, 4.0}}).empty());
}

TEST(PassMarks, AreIterationsWithTheRestUntilTheNext) {
  const std::vector<PassMarks> passes = {{0.0, {}, 3.0}, {4.0, {}, 6.0}, {8.0, {}, 9.0}};
  const std::vector<MeasuredIteration> expected = {{3.0, 1.0}, {2.0, 2.0}};
  EXPECT_EQ(iterations_of(passes), expected);
  EXPECT_TRUE(iterations_of({}).empty());
}

}  // namespace
}  // namespace outpace::throughput
