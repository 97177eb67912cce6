#include "update/momentum.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "update/optimizer_twin_test.h"

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

// ---- Updates that are a share of a round --------------------------------------------------------

Step shared(double share, double rate = 1.0) {
  return {.rate = rate, .mean_weight = 1, .weight_decay = 0, .share = share};
}

TEST(Momentum, ARoundOfSharesChangesTheVelocityAsOneUpdateDoes) {
  // mu = 1/16, so that four shares of a quarter fade by a half each.
  Momentum shares(Momentum::Form::kHeavyBall, 0.0625, 1);
  Momentum whole(Momentum::Form::kHeavyBall, 0.0625, 1);
  for (int round = 0; round < 3; ++round) {
    (void)stepped(whole, kUnit, 15.0F, 0.0F);
    for (int i = 0; i < 4; ++i) {
      (void)stepped(shares, shared(0.25), 15.0F / 4, 0.0F);  // The rule weighs by the share.
    }
  }
  // The next synchronous update shows both velocities.
  EXPECT_FLOAT_EQ(stepped(shares, kUnit, 0.0F, 0.0F), stepped(whole, kUnit, 0.0F, 0.0F));
}

TEST(Momentum, IsAheadByTheWayOfARoundWithoutGradients) {
  // v = 16, and L = 1/4 * (1/2 + 1/4 + 1/8 + 1/16) = 15/64.
  Momentum momentum(Momentum::Form::kHeavyBall, 0.0625, 1);
  (void)stepped(momentum, kUnit, 16.0F, 0.0F);
  float ahead = 0.0F;
  for (int i = 0; i < 4; ++i) {
    ahead = stepped(momentum, shared(0.25), 0.0F, ahead);
  }
  // The weights themselves were 15/64 * 16 behind and have come to 0. The velocity is 1 now.
  EXPECT_FLOAT_EQ(ahead, -15.0F / 64);
}

TEST(Momentum, IsSgdWithoutMomentumInAnyShare) {
  Momentum momentum(Momentum::Form::kHeavyBall, 0.0, 1);
  EXPECT_FLOAT_EQ(stepped(momentum, shared(0.125, 0.5), 3.0F, 1.0F), -0.5F);
  EXPECT_FLOAT_EQ(stepped(momentum, shared(0.125, 0.5), 3.0F, -0.5F), -2.0F);
}

TEST(Momentum, OverUpdatesTakesEveryShareForAWholeUpdate) {
  Momentum plain(Momentum::Form::kHeavyBall, 0.5, 1, Momentum::Over::kUpdate);
  EXPECT_EQ(stepped(plain, shared(0.25), 1.0F, 0.0F), -1.0F);
  EXPECT_EQ(stepped(plain, shared(0.25), 1.0F, -1.0F), -2.5F);
}

// The plain implementation: the weights themselves, and beside them those that workers see, for
// which it walks a round by the velocity alone.
TEST(Momentum, SharesWalkLikeAPlainImplementation) {
  constexpr double kMu = 0.9;
  for (const int round : {2, 5, 8}) {
    const double share = 1.0 / round;
    for (const auto form : {Momentum::Form::kHeavyBall, Momentum::Form::kNesterov}) {
      Momentum momentum(form, kMu, 1);
      Rng rng(7, static_cast<std::uint64_t>(round));
      double v = 0.0;
      double own = 0.5;
      float seen = 0.5F;
      for (int t = 0; t < 500; ++t) {
        const double gradient = rng.normal();
        const double fades = std::pow(kMu, share);
        v = fades * v + gradient * (1.0 - fades) / (1.0 - kMu) / share;
        own -= 0.01 * share * v;
        double ahead = own;
        double faded = v;
        for (int i = 0; i < round; ++i) {
          faded *= fades;
          ahead -= 0.01 * share * faded;
        }
        seen = stepped(momentum, shared(share, 0.01), static_cast<float>(gradient), seen);
        ASSERT_NEAR(static_cast<double>(seen), ahead, 1e-4) << "round " << round << ", step " << t;
      }
    }
  }
}

}  // namespace
}  // namespace outpace::update
