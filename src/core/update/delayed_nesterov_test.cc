#include "update/delayed_nesterov.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/kept_test.h"
#include "base/refusal_test.h"
#include "base/rng.h"
#include "update/momentum.h"
#include "update/optimizer_twin_test.h"

namespace outpace::update {
namespace {

Step a_share(double share, double rate = 1.0) {
  return {.rate = rate, .mean_weight = 1, .weight_decay = 0, .share = share};
}

TEST(DelayedNesterov, MovesByTheGradientsAloneUntilTheRoundIsWhole) {
  // mu = 1/2 and two workers, whose gradients come with the weight 1/2.
  DelayedNesterov delayed(0.5, 1);
  EXPECT_EQ(stepped(delayed, a_share(0.5), 4.0F, 0.0F), -4.0F);  // D = 4
  EXPECT_EQ(stepped(delayed, a_share(0.5), 2.0F, 0.0F), -5.0F);  // v = 6; 2 + 6/2
  EXPECT_EQ(stepped(delayed, a_share(0.5), 1.0F, 0.0F), -1.0F);  // D = 1
  EXPECT_EQ(stepped(delayed, a_share(0.5), 0.0F, 0.0F), -2.0F);  // v = 6/2 + 1; 0 + 4/2
}

TEST(DelayedNesterov, IsNesterovToTheBitWhereEachUpdateIsARound) {
  expect_walks_like("nesterov:mu=0.8,over=delayed", [] {
    return [v = 0.0](const Step& step, double g, double w) mutable {
      const double decayed = g + step.weight_decay * step.mean_weight * w;
      v = 0.8 * v + decayed;
      return w - step.rate * (decayed + 0.8 * v);
    };
  });
  DelayedNesterov delayed(0.9, 1);
  Momentum nesterov(Momentum::Form::kNesterov, 0.9, 1);
  Rng rng(3, 0);
  float one = 0.5F;
  float other = 0.5F;
  for (int t = 0; t < 200; ++t) {
    const auto gradient = static_cast<float>(rng.normal());
    const Step step{.rate = 0.1, .mean_weight = 0.7, .weight_decay = 0.01};
    one = stepped(delayed, step, gradient, one);
    other = stepped(nesterov, step, gradient, other);
    ASSERT_EQ(one, other) << "step " << t;
  }
}

// The paper's steps with c = 0, as they are written: whole Delta, divided by N here.
TEST(DelayedNesterov, WalksLikeAPlainImplementationOfThePaper) {
  constexpr double kMu = 0.9;
  constexpr double kRate = 0.05;
  for (const int workers : {1, 2, 3, 7, 8, 10, 49}) {
    DelayedNesterov delayed(kMu, 1);
    Rng rng(11, static_cast<std::uint64_t>(workers));
    double theta = 0.5;
    double m = 0.0;
    double sum = 0.0;
    float weight = 0.5F;
    for (int push = 1; push <= 700; ++push) {
      const double delta = rng.normal() + 0.1;
      theta -= kRate * delta / workers;
      sum += delta;
      if (push % workers == 0) {
        m = kMu * m + sum / workers;
        theta -= kRate * kMu * m;
        sum = 0.0;
      }
      // What the rule `share` leaves of Delta.
      const auto gradient = static_cast<float>(delta / workers);
      weight = stepped(delayed, a_share(1.0 / workers, kRate), gradient, weight);
      ASSERT_NEAR(static_cast<double>(weight), theta, 1e-4)
          << workers << " workers, push " << push << ", seed 11";
    }
  }
}

// A worker that leaves makes the others' shares larger, and a synchronous policy makes each update
// a round. Whatever the shares are, each gradient gets into the velocity once.
TEST(DelayedNesterov, PutsEachGradientIntoTheVelocityOnceHoweverTheSharesChange) {
  const std::vector<double> shares{0.25,
                                   0.25,
                                   0.5,  // A round of four workers; two leave.
                                   0.5,
                                   1.0,  // Half a round, then `sync`.
                                   1.0,  // `sync`.
                                   0.4,
                                   0.4,
                                   0.4,  // More than a round.
                                   1.0 / 3,
                                   1.0 / 3,
                                   1.0 / 3};
  const std::vector<bool> ends{
      false, false, true, false, true, true, false, false, true, false, false, true};
  const double mu = 0.5;
  DelayedNesterov delayed(mu, 1);
  double velocity = 0.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double gradient = static_cast<double>(i + 1);
    sum += gradient;
    double expected = -gradient;
    if (ends[i]) {
      velocity = mu * velocity + sum;
      sum = 0.0;
      expected -= mu * velocity;
    }
    EXPECT_FLOAT_EQ(stepped(delayed, a_share(shares[i]), static_cast<float>(gradient), 0.0F),
                    static_cast<float>(expected))
        << "update " << i;
  }
}

TEST(DelayedNesterov, MovesAsFarAsSynchronousNesterovUnderEqualGradients) {
  // D / (1 - mu) in a round, in the long run.
  DelayedNesterov delayed(0.5, 1);
  float weight = 0.0F;
  for (int push = 0; push < 400; ++push) {
    weight = stepped(delayed, a_share(0.25), 0.25F, weight);
  }
  const float before = weight;
  for (int push = 0; push < 4; ++push) {
    weight = stepped(delayed, a_share(0.25), 0.25F, weight);
  }
  EXPECT_FLOAT_EQ(before - weight, 2.0F);
}

// Eight equal workers. Each pushes the part h of the way to the minimum that it saw after
// its last push. docs/local-steps.md has the limits of h.
float after_rounds(const std::string& spec, float h) {
  const auto optimizer = make_optimizer(Spec::parse(spec), 1);
  std::vector<float> seen(8, 1.0F);
  float weight = 1.0F;
  for (int round = 0; round < 300; ++round) {
    for (float& at : seen) {
      weight = stepped(*optimizer, a_share(1.0 / 8, 0.7), h * at / 8, weight);
      at = weight;
    }
  }
  return std::abs(weight);
}

TEST(DelayedNesterov, SwingsWherePushesAreLongAndARoundOldUnlessItsMomentumIsSmall) {
  EXPECT_LT(after_rounds("nesterov:mu=0.9,over=delayed", 0.75F), 1e-2F);
  EXPECT_GT(after_rounds("nesterov:mu=0.9,over=delayed", 0.9F), 10.0F);
  EXPECT_LT(after_rounds("nesterov:mu=0.9,over=round", 0.75F), 1e-2F);
  EXPECT_GT(after_rounds("nesterov:mu=0.9,over=round", 0.95F), 10.0F);
  EXPECT_LT(after_rounds("nesterov:mu=0.5,over=delayed", 1.4F), 1e-2F);
  EXPECT_GT(after_rounds("nesterov:mu=0.5,over=delayed", 1.6F), 10.0F);
}

TEST(DelayedNesterov, GoesOnWithinARoundAndAtItsEnd) {
  DelayedNesterov begun(0.5, 2);
  std::vector<float> weights(2);
  const std::vector<float> gradient{1.0F, 2.0F};
  begun.step(a_share(0.5), gradient, weights);
  DelayedNesterov same(0.5, 2);
  copy_kept(begun, same);
  std::vector<float> other = weights;
  begun.step(a_share(0.5), gradient, weights);
  same.step(a_share(0.5), gradient, other);
  EXPECT_EQ(weights, other);
  // At a round's end there is no sum to keep, and a half-made one of the reader goes.
  same.step(a_share(0.5), gradient, other);
  copy_kept(begun, same);
  other = weights;
  begun.step(a_share(0.5), gradient, weights);
  same.step(a_share(0.5), gradient, other);
  EXPECT_EQ(weights, other);
}

TEST(DelayedNesterov, ReadsNoStateWhoseSumIsNotOfARound) {
  struct Written {
    double round;
    std::vector<float> since;
    void keep(Archive& archive) {
      std::vector<float> velocity(2);
      archive("velocity", velocity)("round", round)("since", since);
    }
  };
  for (const Written& wrong : {Written{0.5, {}},
                               Written{0.5, {1.0F}},
                               Written{0.0, {1.0F, 2.0F}},
                               Written{1.5, {1.0F, 2.0F}},
                               Written{-0.5, {}}}) {
    MemoryArchive archive;
    Written written = wrong;
    written.keep(archive);
    archive.rewind();
    DelayedNesterov reader(0.5, 2);
    try {
      reader.keep(archive);
      ADD_FAILURE() << "read a round of " << wrong.round;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "state 'since' is not of a round that has begun");
    }
  }
}

TEST(DelayedNesterov, IsAFormOfNesterovAlone) {
  EXPECT_EQ(refusal_of([] { (void)make_optimizer(Spec::parse("momentum:over=delayed"), 1); }),
            "optimizer 'momentum:over=delayed': over is 'delayed'; it takes round|update");
}

}  // namespace
}  // namespace outpace::update
