#include "update/momentum.h"

#include <gtest/gtest.h>

#include "update/optimizer_twin.h"

namespace outpace::update {
namespace {

TEST(Momentum, KeepsHalfOfItsVelocityAtMuOneHalf) {
  Momentum momentum(Momentum::Form::kHeavyBall, 0.5, 1);
  EXPECT_EQ(stepped(momentum, kUnit, 1.0F, 0.0F), -1.0F);   // v = 1
  EXPECT_EQ(stepped(momentum, kUnit, 1.0F, -1.0F), -2.5F);  // v = 1.5
  EXPECT_EQ(stepped(momentum, kUnit, 0.0F, 0.0F), -0.75F);  // v = 0.75
}

TEST(Nesterov, LooksAhead) {
  Momentum nesterov(Momentum::Form::kNesterov, 0.5, 1);
  EXPECT_EQ(stepped(nesterov, kUnit, 1.0F, 0.0F), -1.5F);    // v = 1, 1 + 0.5
  EXPECT_EQ(stepped(nesterov, kUnit, 1.0F, -1.5F), -3.25F);  // v = 1.5, 1 + 0.75
}

TEST(Momentum, ActsOnAChangeOfRateAtOnce) {
  Momentum momentum(Momentum::Form::kHeavyBall, 0.5, 1);
  EXPECT_EQ(stepped(momentum, kUnit, 4.0F, 0.0F), -4.0F);
  const Step still{.rate = 0, .mean_weight = 1, .weight_decay = 0};
  EXPECT_EQ(stepped(momentum, still, 0.0F, -4.0F), -4.0F);  // The velocity is not the way moved.
}

TEST(Momentum, PutsTheScaledDecayIntoTheVelocity) {
  // g' = 1 + 0.5 * 0.5 * 4 = 2, then v = 0.5 * 2 + 0
  Momentum momentum(Momentum::Form::kHeavyBall, 0.5, 1);
  const Step decaying{.rate = 1, .mean_weight = 0.5, .weight_decay = 0.5};
  EXPECT_EQ(stepped(momentum, decaying, 1.0F, 4.0F), 2.0F);
  EXPECT_EQ(stepped(momentum, kUnit, 0.0F, 0.0F), -1.0F);
}

TEST(Momentum, WalksLikeAPlainImplementation) {
  expect_walks_like("momentum:mu=0.9", [] {
    return [v = 0.0](const Step& step, double g, double w) mutable {
      v = 0.9 * v + g + step.weight_decay * step.mean_weight * w;
      return w - step.rate * v;
    };
  });
}

TEST(Nesterov, WalksLikeAPlainImplementation) {
  expect_walks_like("nesterov:mu=0.8", [] {
    return [v = 0.0](const Step& step, double g, double w) mutable {
      const double decayed = g + step.weight_decay * step.mean_weight * w;
      v = 0.8 * v + decayed;
      return w - step.rate * (decayed + 0.8 * v);
    };
  });
}

}  // namespace
}  // namespace outpace::update
