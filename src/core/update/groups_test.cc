#include "update/groups.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "base/memory_archive.h"
#include "base/refusal_test.h"
#include "base/rng.h"
#include "update/optimizer_twin_test.h"

namespace outpace::update {
namespace {

using Numbers = std::vector<float>;

Group group(const std::string& optimizer, double rate, double weight_decay = 0.0) {
  return {.optimizer = Spec::parse(optimizer), .rate = rate, .weight_decay = weight_decay};
}

TEST(GroupedOptimizer, StepsEachTensorByItsGroup) {
  GroupedOptimizer grouped(
      {.groups = {group("momentum:mu=0.5", 1.0), group("sgd", 0.25, 2.0)}, .group_of = {0, 1, 0}},
      {1, 2, 1});
  EXPECT_FALSE(grouped.scale_invariant());
  Numbers weights{0, 1, -1, 4};
  grouped.step(kUnit, Numbers{1, 1, 1, 1}, weights);
  // sgd: w - 0.25 (1 + 2 w).
  EXPECT_EQ(weights, (Numbers{-1, 0.25F, -0.75F, 3}));
  grouped.step(kUnit, Numbers{1, 0, 0, 0}, weights);
  // momentum: v = 1.5 and 0.5.
  EXPECT_EQ(weights, (Numbers{-2.5F, 0.125F, -0.375F, 2.5F}));
}

TEST(GroupedOptimizer, MultipliesTheStepsRateByTheGroups) {
  GroupedOptimizer grouped({.groups = {group("sgd", 0.5), group("sgd", 2.0)}, .group_of = {0, 1}},
                           {1, 1});
  Numbers weights{0, 0};
  grouped.step({.rate = 0.5, .mean_weight = 1, .weight_decay = 9.0}, Numbers{1, 1}, weights);
  EXPECT_EQ(weights, (Numbers{-0.25F, -1})) << "the step's decay does not count";
  grouped.set_rates(std::vector<double>{4.0, 0.0});
  grouped.step(kUnit, Numbers{1, 1}, weights);
  EXPECT_EQ(weights, (Numbers{-4.25F, -1}));
}

TEST(GroupedOptimizer, DecaysApartFromTheGradientInAdamW) {
  // The first step of Adam is the rate in the gradient's direction; the decay is 0.5 * 0.25 of 8.
  GroupedOptimizer grouped(
      {.groups = {group("adamw:epsilon=1e-12", 0.5, 0.25), group("adam:epsilon=1e-12", 0.5, 0.25)},
       .group_of = {0, 1}},
      {1, 1});
  EXPECT_TRUE(grouped.scale_invariant());
  Numbers weights{8, 8};
  grouped.step(kUnit, Numbers{3, 3}, weights);
  EXPECT_FLOAT_EQ(weights[0], 8 - 1 - 0.5F);
  EXPECT_FLOAT_EQ(weights[1], 8 - 0.5F);
}

TEST(GroupedOptimizer, TheNewestValuesReplaceTheServers) {
  GroupedOptimizer grouped(
      {.groups = {group("sgd", 1.0), group("newest", 0.0)}, .group_of = {1, 0, 1}}, {1, 1, 2});
  Numbers weights{9, 0, 8, 7};
  grouped.step(kUnit, Numbers{0, 1, 0, 0}, weights);
  EXPECT_EQ(weights, (Numbers{9, -1, 8, 7})) << "nothing was accepted";

  Numbers gradient{1, 5, 2, 3};
  grouped.accept_newest(grouped.take_newest(gradient), 4);
  EXPECT_EQ(gradient, (Numbers{0, 5, 0, 0})) << "nothing else is to see them";
  grouped.accept_newest({6, 6, 6}, 3);  // Computed on older weights.
  Numbers moved(4);
  grouped.step_into(kUnit, Numbers{0, 1, 0, 0}, weights, moved);
  EXPECT_EQ(moved, (Numbers{1, -2, 2, 3}));
  grouped.accept_newest({0, 0, 0}, 4);
  grouped.accept_newest({4, 5, 6}, 4);  // The last of equals.
  grouped.step(kUnit, Numbers{0, 0, 0, 0}, weights);
  EXPECT_EQ(weights, (Numbers{4, -1, 5, 6}));
  EXPECT_EQ(grouped.learnt_squared_norm(Numbers{3, 2, 3, 3}), 4.0);
  EXPECT_FALSE(grouped.averages());
}

TEST(GroupedOptimizer, ATensorThatNoGradientHasKeepsItsWeightsAndItsState) {
  for (const char* spec : {"momentum:mu=0.5", "adamw", "rmsprop", "adagrad"}) {
    const Groups groups{.groups = {group(spec, 0.5, 0.1)}, .group_of = {0, 0}};
    GroupedOptimizer lacking(groups, {1, 1});
    GroupedOptimizer rarer(groups, {1, 1});  // As if the steps without had never been.
    Numbers weights{1, 1};
    Numbers few{1, 1};
    for (int t = 0; t < 6; ++t) {
      const std::vector<std::uint32_t> without(t % 3 == 0 ? 0 : 1, 1);
      const Numbers mean{0.5F, without.empty() ? 0.25F : 0.0F};
      lacking.accept_without(without, 8);
      lacking.step(kUnit, mean, weights);
      if (without.empty()) {
        rarer.step(kUnit, mean, few);
      }
    }
    EXPECT_EQ(weights[1], few[1]) << spec;
    EXPECT_NE(weights[0], few[0]) << spec;
  }
}

TEST(GroupedOptimizer, ATensorThatSomeGradientsHaveIsSteppedAlongTheirMean) {
  GroupedOptimizer grouped({.groups = {group("sgd", 1.0)}, .group_of = {0, 0}}, {1, 1});
  const std::vector<std::uint32_t> second{1};
  grouped.accept_without({}, 8);
  grouped.accept_without(second, 24);
  Numbers weights{0, 0};
  Numbers moved(2);
  grouped.step_into(kUnit, Numbers{4, 1}, weights, moved);  // (8 * 4 + 24 * 0) / 32 is 1.
  EXPECT_EQ(moved, (Numbers{-4, -4}));
  grouped.step(kUnit, Numbers{4, 1}, weights);
  EXPECT_EQ(weights, (Numbers{-4, -1})) << "the next update begins anew";
}

TEST(GroupedOptimizer, KnowsWhatAGradientMayLack) {
  const auto may = [](const std::string& first, const std::string& second, std::uint32_t tensor) {
    const GroupedOptimizer grouped(
        {.groups = {group(first, 1.0), group(second, 1.0)}, .group_of = {0, 1}}, {1, 1});
    return grouped.can_be_without(std::vector<std::uint32_t>{tensor});
  };
  EXPECT_TRUE(may("sgd", "momentum", 1));
  EXPECT_FALSE(may("sgd", "newest", 1)) << "a buffer";
  EXPECT_FALSE(may("sgd", "average", 1));
  EXPECT_FALSE(may("sgd", "sgd", 2)) << "there is none";
  const GroupedOptimizer whole({.groups = {group("yellowfin", 1.0)}, .group_of = {0, 0}}, {1, 1});
  EXPECT_FALSE(whole.can_be_without(std::vector<std::uint32_t>{1})) << "it takes all weights";
}

TEST(GroupedOptimizer, OneGroupStepsToTheBitAsNoGroup) {
  constexpr std::uint64_t kSeed = 20261125;
  const std::vector<std::size_t> tensors{5, 7, 1};
  for (const char* spec : {"sgd",
                           "momentum",
                           "nesterov:mu=0.8",
                           "adam",
                           "adamw",
                           "lamb",
                           "rmsprop",
                           "adagrad",
                           "adadelta",
                           "yellowfin"}) {
    const auto plain = make_optimizer(Spec::parse(spec), 13, tensors);
    GroupedOptimizer grouped({.groups = {group(spec, 1.0, 0.01)}, .group_of = {0, 0, 0}}, tensors);
    Rng rng(kSeed, 0);
    Numbers weights(13);
    Numbers mean(13);
    for (float& weight : weights) {
      weight = static_cast<float>(rng.normal());
    }
    Numbers other = weights;
    for (int t = 0; t < 50; ++t) {
      for (float& number : mean) {
        number = static_cast<float>(rng.normal());
      }
      const double rate = 0.1 * rng.uniform();
      plain->step({.rate = rate, .mean_weight = 0.75, .weight_decay = 0.01}, mean, weights);
      grouped.step({.rate = rate, .mean_weight = 0.75, .weight_decay = 0.0}, mean, other);
      ASSERT_EQ(weights, other) << spec << ", seed " << kSeed << ", step " << t;
    }
  }
}

TEST(GroupedOptimizer, AveragesBuffersBesideAnyOptimizer) {
  for (const char* spec : {"sgd", "adam"}) {
    GroupedOptimizer grouped(
        {.groups = {group("average:mu=0.75", 1.0), group(spec, 0.0)}, .group_of = {0, 1}}, {2, 1});
    EXPECT_TRUE(grouped.averages());
    EXPECT_EQ(grouped.learnt_squared_norm(Numbers{3, 4, 2}), 4.0);
    // A mean that is weighted by one half holds the half of each value; adam's is not weighted.
    const float half = grouped.scale_invariant() ? 1.0F : 0.5F;
    Numbers weights{0, 8, 1};
    const Step step{.rate = 7, .mean_weight = 0.5, .weight_decay = 0};
    grouped.step(step, Numbers{half * 4, half * 16, 1}, weights);
    EXPECT_EQ(weights, (Numbers{1, 10, 1})) << spec;
    grouped.step({.rate = 7, .mean_weight = 0, .weight_decay = 0}, Numbers{0, 0, 0}, weights);
    EXPECT_EQ(weights, (Numbers{1, 10, 1})) << "nothing counts";
    if (!grouped.scale_invariant()) {
      grouped.step({.rate = 7, .mean_weight = 1e-42, .weight_decay = 0}, Numbers{0, 0, 0}, weights);
      EXPECT_EQ(weights, (Numbers{1, 10, 1})) << "too little counts to be told from nothing";
    }
  }
}

TEST(GroupedOptimizer, KeepsRatesAndMoments) {
  const Groups groups{.groups = {group("momentum:mu=0.5", 1.0), group("sgd", 1.0)},
                      .group_of = {0, 1}};
  GroupedOptimizer first(groups, {1, 1});
  Numbers weights{0, 0};
  first.set_rates(std::vector<double>{0.5, 0.25});
  first.step(kUnit, Numbers{1, 1}, weights);
  MemoryArchive kept;
  first.keep(kept);
  kept.rewind();
  GroupedOptimizer second(groups, {1, 1});
  second.keep(kept);
  Numbers other = weights;
  first.step(kUnit, Numbers{1, 1}, weights);
  second.step(kUnit, Numbers{1, 1}, other);
  EXPECT_EQ(weights, other);
  EXPECT_EQ(weights, (Numbers{-1.25F, -0.5F}));
}

TEST(GroupedOptimizer, RefusesGroupsThatDoNotGoTogether) {
  const auto refusal = [](const std::string& one, const std::string& other) {
    return refusal_of([&] {
      const GroupedOptimizer made(
          {.groups = {group(one, 1.0), group(other, 1.0)}, .group_of = {0, 1}}, {1, 1});
    });
  };
  EXPECT_EQ(refusal("sgd", "adam"),
            "the parameter groups take sgd and adam, which do not go together");
  EXPECT_EQ(refusal("yellowfin", "yellowfin"),
            "yellowfin takes all weights; use one parameter group");
  EXPECT_EQ(refusal("sgd", "nesterov"), "accepted");
  EXPECT_EQ(refusal("adagrad", "adam"), "accepted");
  EXPECT_EQ(refusal("average", "average:mu=0"),
            "all parameter groups are of buffers, so nothing is trained");
  EXPECT_EQ(refusal("average", "yellowfin"),
            "yellowfin takes all weights, and some of these are buffers, as batch normalisation's "
            "running statistics are; use another optimizer, such as momentum");
  EXPECT_EQ(refusal("average:mu=1", "sgd").substr(0, 9), "optimizer");
}

}  // namespace
}  // namespace outpace::update
