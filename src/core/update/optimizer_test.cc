#include "update/optimizer.h"

#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "base/rng.h"

namespace outpace::update {
namespace {

std::string optimizer_refusal(const std::string& spec) {
  return refusal_of([&] { std::ignore = make_optimizer(Spec::parse(spec), 1); });
}

TEST(Optimizers, AreMadeFromTheirOwnDescription) {
  for (const OptimizerDoc& doc : optimizers()) {
    EXPECT_EQ(optimizer_refusal(doc.name), "accepted");
    if (!doc.options.empty()) {
      EXPECT_EQ(optimizer_refusal(doc.name + ":" + doc.options), "accepted");
    }
    EXPECT_FALSE(doc.rule.empty());
    EXPECT_FALSE(doc.source.empty());
  }
}

TEST(Optimizers, WithASecondMomentAreScaleInvariant) {
  for (const OptimizerDoc& doc : optimizers()) {
    const auto optimizer = make_optimizer(Spec::parse(doc.name), 1);
    const bool linear = doc.name == "sgd" || doc.name == "momentum" || doc.name == "nesterov";
    EXPECT_EQ(optimizer->scale_invariant(), !linear) << doc.name;
  }
}

TEST(Optimizers, TakeTheirDefaultsFromTheDescription) {
  for (const OptimizerDoc& doc : optimizers()) {
    const std::string full = doc.name + (doc.options.empty() ? "" : ":" + doc.options);
    std::vector<float> plain{1.0F};
    std::vector<float> spelt{1.0F};
    const auto first = make_optimizer(Spec::parse(doc.name), 1);
    const auto second = make_optimizer(Spec::parse(full), 1);
    for (const float gradient : {1.0F, -0.5F, 2.0F}) {
      const Step step{.rate = 0.1, .mean_weight = 1, .weight_decay = 0.01};
      first->step(step, {&gradient, 1}, plain);
      second->step(step, {&gradient, 1}, spelt);
    }
    EXPECT_EQ(plain, spelt) << doc.name;
  }
}

TEST(Optimizers, StepTheSameToTheBitHoweverTheWeightsAreSplit) {
  for (const OptimizerDoc& doc : optimizers()) {
    if (doc.name == "yellowfin") {
      continue;  // It tunes itself by the norm of all.
    }
    Rng rng(1, 0);
    const Spec spec = Spec::parse(doc.name);
    const auto whole = make_optimizer(spec, 37, {10, 27});  // Where lamb may be split.
    const auto left = make_optimizer(spec, 10);
    const auto right = make_optimizer(spec, 27);
    std::vector<float> weights(37, 1.0F);
    std::vector<float> split(37, 1.0F);
    std::vector<float> mean(37);
    for (int t = 0; t < 100; ++t) {
      for (float& value : mean) {
        value = static_cast<float>(rng.normal());
      }
      const Step step{.rate = 0.1, .mean_weight = 0.7, .weight_decay = 0.01};
      const std::span<const float> gradient(mean);
      whole->step(step, gradient, weights);
      left->step(step, gradient.first(10), std::span(split).first(10));
      right->step(step, gradient.subspan(10), std::span(split).subspan(10));
    }
    EXPECT_EQ(weights, split) << doc.name;
  }
}

TEST(Optimizers, StepElsewhereAsInPlaceToTheBitAndLeaveTheWeights) {
  for (const OptimizerDoc& doc : optimizers()) {
    constexpr std::size_t kSize = 1003;
    Rng rng(1, 0);
    const auto one = make_optimizer(Spec::parse(doc.name), kSize);
    const auto other = make_optimizer(Spec::parse(doc.name), kSize);
    std::vector<float> in_place(kSize, 1.0F);
    std::vector<float> mean(kSize);
    for (int t = 0; t < 50; ++t) {
      for (float& value : mean) {
        value = static_cast<float>(rng.normal());
      }
      const Step step{.rate = 0.1, .mean_weight = 0.7, .weight_decay = 0.01};
      const std::vector<float> weights = in_place;
      std::vector<float> kept = weights;
      std::vector<float> moved(kSize, std::nanf(""));
      other->step_into(step, mean, kept, moved);
      one->step(step, mean, in_place);
      EXPECT_EQ(moved, in_place) << doc.name;
      EXPECT_EQ(kept, weights) << doc.name;
    }
  }
}

TEST(Optimizers, DoNotMoveAtRateZero) {
  for (const OptimizerDoc& doc : optimizers()) {
    const auto optimizer = make_optimizer(Spec::parse(doc.name), 2);
    const std::vector<float> mean{1.0F, -3.0F};
    std::vector<float> weights{0.5F, 0.25F};
    optimizer->step({.rate = 0, .mean_weight = 1, .weight_decay = 0.1}, mean, weights);
    EXPECT_EQ(weights, (std::vector<float>{0.5F, 0.25F})) << doc.name;
  }
}

TEST(Optimizers, RefuseAnUnknownNameAndSuggestTheNearest) {
  EXPECT_EQ(optimizer_refusal("adma"), "unknown optimizer 'adma'; did you mean 'adam'?");
  EXPECT_EQ(
      optimizer_refusal("lbfgs-b"),
      "unknown optimizer 'lbfgs-b'; known: sgd, momentum, nesterov, adam, adamw, lamb, rmsprop, "
      "adagrad, adadelta, yellowfin");
}

TEST(Optimizers, RefuseOptionsOutOfRange) {
  EXPECT_EQ(optimizer_refusal("momentum:mu=1"),
            "optimizer 'momentum:mu=1': mu is '1'; it takes a number from 0 to 0.999999");
  EXPECT_EQ(optimizer_refusal("nesterov:-0.1"),
            "optimizer 'nesterov:-0.1': mu is '-0.1'; it takes a number from 0 to 0.999999");
  for (const char* spec : {"adam:beta1=1",
                           "adam:beta1=-0.5",
                           "adamw:beta2=1.5",
                           "adam:epsilon=0",
                           "adamw:epsilon=nan",
                           "lamb:beta2=1",
                           "lamb:epsilon=0",
                           "rmsprop:alpha=1",
                           "rmsprop:epsilon=0",
                           "rmsprop:mu=1",
                           "adagrad:lr_decay=-1",
                           "adagrad:initial=-1",
                           "adagrad:epsilon=0",
                           "adadelta:rho=1",
                           "adadelta:epsilon=0",
                           "yellowfin:beta=1",
                           "yellowfin:gamma=2",
                           "momentum:mu=x"}) {
    EXPECT_NE(optimizer_refusal(spec).find("it takes a number from"), std::string::npos) << spec;
  }
}

TEST(Optimizers, RefuseOptionsTheyDoNotHave) {
  EXPECT_EQ(optimizer_refusal("momentum:m=0.9"),
            "optimizer 'momentum:m=0.9': unknown option 'm'; did you mean 'mu'?");
  EXPECT_EQ(optimizer_refusal("sgd:0.1"),
            "optimizer 'sgd:0.1': unknown option '0.1'; it takes none");
}

TEST(OptimizersDeathTest, WantTensorsThatAddUp) {
  EXPECT_DEATH(std::ignore = make_optimizer(Spec::parse("lamb"), 3, {1, 1}), "CHECK");
}

TEST(OptimizersDeathTest, WantSpansOfTheirSize) {
  const auto optimizer = make_optimizer(Spec::parse("sgd"), 2);
  const std::vector<float> mean(2);
  std::vector<float> weights(3);
  EXPECT_DEATH(optimizer->step({.rate = 1, .mean_weight = 1, .weight_decay = 0}, mean, weights),
               "CHECK");
}

}  // namespace
}  // namespace outpace::update
