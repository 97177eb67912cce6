#include "update/sgd.h"

#include <gtest/gtest.h>

#include "update/optimizer_twin_test.h"

namespace outpace::update {
namespace {

TEST(Sgd, StepsAgainstTheGradient) {
  Sgd sgd(1);
  EXPECT_EQ(stepped(sgd, {.rate = 0.5, .mean_weight = 1, .weight_decay = 0}, 2.0F, 3.0F), 2.0F);
}

TEST(Sgd, ScalesTheDecayByTheMeanWeight) {
  // g' = 1 + 0.5 * 0.25 * 8 = 2
  Sgd sgd(1);
  EXPECT_EQ(stepped(sgd, {.rate = 1, .mean_weight = 0.25, .weight_decay = 0.5}, 1.0F, 8.0F), 6.0F);
}

TEST(Sgd, DoesNotScaleTheGradientByTheMeanWeight) {
  // The aggregate has done that already.
  Sgd sgd(1);
  EXPECT_EQ(stepped(sgd, {.rate = 1, .mean_weight = 0.5, .weight_decay = 0}, 2.0F, 0.0F), -2.0F);
}

TEST(Sgd, WalksLikeAPlainImplementation) {
  expect_walks_like("sgd", [] {
    return [](const Step& step, double g, double w) {
      return w - step.rate * (g + step.weight_decay * step.mean_weight * w);
    };
  });
}

}  // namespace
}  // namespace outpace::update
