#include "update/local_phase.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"

namespace outpace::update {
namespace {

// The gradient of |w - target|^2 / 2.
void descend(LocalPhase& phase, double rate, const std::vector<float>& target) {
  for (std::size_t i = 0; i < target.size(); ++i) {
    phase.gradient()[i] = phase.weights()[i] - target[i];
  }
  phase.step(rate, 1.0, 4);
}

TEST(LocalPhase, ItsDifferenceIsWhatItsStepsHaveTakenOffTheWeights) {
  LocalPhase phase(Spec::parse("sgd"), 0.0, {2});
  const std::vector<float> released{1.0F, -2.0F};
  phase.begin(released);
  descend(phase, 0.5, {0.0F, 0.0F});
  descend(phase, 0.5, {0.0F, 0.0F});
  std::vector<float> delta(2);
  phase.difference(released, delta);
  EXPECT_EQ(delta, (std::vector<float>{0.75F, -1.5F}));
}

TEST(LocalPhase, StepsWhileAPushTravelsAreAddedToTheWeightsThatCome) {
  LocalPhase phase(Spec::parse("sgd"), 0.0, {1});
  phase.begin(std::vector<float>{8.0F});
  descend(phase, 0.5, {0.0F});  // 4, which is pushed.
  std::vector<float> delta(1);
  phase.difference(std::vector<float>{8.0F}, delta);
  phase.go_on();
  descend(phase, 0.5, {0.0F});  // 2.
  const std::vector<float> came{10.0F};
  phase.take_up(came);
  EXPECT_EQ(phase.weights().front(), 8.0F);
  descend(phase, 0.5, {0.0F});
  phase.difference(came, delta);
  EXPECT_EQ(delta.front(), 2.0F + 4.0F);  // Both steps, each once.
}

TEST(LocalPhase, GoesOnFromNothingThatIsNotFinite) {
  LocalPhase phase(Spec::parse("sgd"), 0.0, {1});
  const std::vector<float> released{0.0F};
  std::vector<float> delta(1);
  const auto ends_finite = [&](float target, double loss) {
    phase.begin(released);
    phase.gradient()[0] = target;
    phase.step(1.0, loss, 4);
    phase.difference(released, delta);
    return phase.can_go_on();
  };
  EXPECT_FALSE(phase.can_go_on());
  EXPECT_TRUE(ends_finite(1.0F, 1.0));
  EXPECT_FALSE(ends_finite(INFINITY, 1.0));
  EXPECT_FALSE(ends_finite(1.0F, NAN));
}

TEST(LocalPhase, OneStepOfSgdIsItsRateTimesTheGradient) {
  LocalPhase phase(Spec::parse("sgd"), 0.25, {1});
  const std::vector<float> released{2.0F};
  phase.begin(released);
  phase.gradient()[0] = 3.0F;
  phase.step(0.5, 1.0, 4);
  std::vector<float> delta(1);
  phase.difference(released, delta);
  EXPECT_EQ(delta.front(), 0.5F * (3.0F + 0.25F * 2.0F));
}

TEST(LocalPhase, TheOptimizersStateLastsFromPhaseToPhase) {
  LocalPhase phase(Spec::parse("momentum:mu=0.5"), 0.0, {1});
  std::vector<float> delta(1);
  const std::vector<float> released{0.0F};
  for (const float expected : {1.0F, 1.5F, 1.75F}) {  // v = v / 2 + 1.
    phase.begin(released);
    phase.gradient()[0] = 1.0F;
    phase.step(1.0, 1.0, 1);
    phase.difference(released, delta);
    EXPECT_EQ(delta.front(), expected);
  }
}

TEST(LocalPhase, ALossCountsByItsExamples) {
  LocalPhase phase(Spec::parse("sgd"), 0.0, {1});
  const std::vector<float> released{0.0F};
  phase.begin(released);
  phase.gradient()[0] = 0.0F;
  phase.step(1.0, 2.0, 3);
  phase.step(1.0, 6.0, 1);
  EXPECT_EQ(phase.loss(), 3.0);
  phase.begin(released);
  phase.step(1.0, 5.0, 1);
  EXPECT_EQ(phase.loss(), 5.0);
}

TEST(LocalPhase, AfterNumbersThatAreNotFiniteItsOptimizerBeginsAnew) {
  LocalPhase phase(Spec::parse("momentum"), 0.0, {1});
  const std::vector<float> released{0.0F};
  std::vector<float> delta(1);
  phase.begin(released);
  phase.gradient()[0] = NAN;
  phase.step(1.0, 1.0, 1);
  phase.difference(released, delta);
  EXPECT_TRUE(std::isnan(delta.front()));
  phase.begin(released);
  phase.gradient()[0] = 1.0F;
  phase.step(1.0, 1.0, 1);
  phase.difference(released, delta);
  EXPECT_EQ(delta.front(), 1.0F);
}

TEST(LocalPhase, AWrongOptimizerIsRefused) {
  EXPECT_THROW(LocalPhase(Spec::parse("sdg"), 0.0, {1}), Error);
}

}  // namespace
}  // namespace outpace::update
