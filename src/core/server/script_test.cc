#include "server/script.h"

#include <gtest/gtest.h>

namespace outpace::server {
namespace {

using protocol::Method;

protocol::Script script_of(std::vector<protocol::ParameterGroup> groups) {
  return {.groups = std::move(groups), .group_of = {0}, .epochs = 0};
}

TEST(Script, EachMethodIsAnOptimizerWithItsSettings) {
  const auto words = [](Method method) {
    return optimizer_in_words(script_of({{.method = method,
                                          .rate = 0.1,
                                          .momentum = 0.9,
                                          .beta1 = 0.8,
                                          .beta2 = 0.999,
                                          .epsilon = 1e-8,
                                          .rate_decay = 0.25,
                                          .initial = 0.5}}));
  };
  EXPECT_EQ(words(Method::kSgd), "sgd");
  EXPECT_EQ(words(Method::kMomentum), "momentum:mu=0.9");
  EXPECT_EQ(words(Method::kNesterov), "nesterov:mu=0.9");
  EXPECT_EQ(words(Method::kAdam), "adam:beta1=0.8,beta2=0.999,epsilon=1e-08");
  EXPECT_EQ(words(Method::kAdamW), "adamw:beta1=0.8,beta2=0.999,epsilon=1e-08");
  EXPECT_EQ(words(Method::kLamb), "lamb:beta1=0.8,beta2=0.999,epsilon=1e-08");
  EXPECT_EQ(words(Method::kYellowFin), "yellowfin");
  EXPECT_EQ(words(Method::kRmsProp), "rmsprop:alpha=0.999,epsilon=1e-08,mu=0.9,centered=no");
  EXPECT_EQ(words(Method::kCenteredRmsProp),
            "rmsprop:alpha=0.999,epsilon=1e-08,mu=0.9,centered=yes");
  EXPECT_EQ(words(Method::kAdagrad), "adagrad:lr_decay=0.25,initial=0.5,epsilon=1e-08");
  EXPECT_EQ(words(Method::kAdadelta), "adadelta:rho=0.999,epsilon=1e-08");
}

TEST(Script, SaysWhetherItsStepsAreAsLongWhateverTheGradient) {
  const auto found = [](std::vector<protocol::ParameterGroup> groups) {
    return scale_invariant(script_of(std::move(groups)));
  };
  const protocol::ParameterGroup buffers{.method = Method::kAverage, .momentum = 0.9};
  EXPECT_EQ(found({{.method = Method::kSgd, .rate = 0.1}}), false);
  EXPECT_EQ(found({buffers, {.method = Method::kMomentum, .rate = 0.1, .momentum = 0.9}}), false);
  EXPECT_EQ(found({buffers, {.method = Method::kAdamW, .rate = 0.1, .beta1 = 0.9, .beta2 = 0.99}}),
            true);
  EXPECT_EQ(found({buffers, {.method = Method::kByServer, .rate = 1.0}}), std::nullopt);
  EXPECT_EQ(found({}), std::nullopt);
}

TEST(Script, GroupsHaveRatesAndDecaysOfTheirOwn) {
  const auto script = script_of({{.method = Method::kSgd, .rate = 0.1, .weight_decay = 5e-4},
                                 {.method = Method::kMomentum, .rate = 0.01, .momentum = 0.5}});
  const update::Groups groups =
      with_script({.optimizer = Spec::parse("sgd")}, script).groups.value();
  ASSERT_EQ(groups.groups.size(), 2U);
  EXPECT_EQ(groups.groups[0].weight_decay, 5e-4);
  EXPECT_EQ(groups.groups[1].rate, 0.01);
  EXPECT_EQ(groups.groups[1].optimizer.text, "momentum:mu=0.5");
  EXPECT_EQ(groups.group_of, script.group_of);
  EXPECT_EQ(optimizer_in_words(script), "sgd, the first of 2 parameter groups");
  EXPECT_TRUE(brings_optimizer(script));
  EXPECT_EQ(optimizer_in_words({}), "");
}

TEST(Script, MayLeaveTheOptimizerToTheServerAndBringBuffersAlone) {
  protocol::Script script = script_of(
      {{.method = Method::kByServer, .rate = 1.0}, {.method = Method::kAverage, .momentum = 0.9}});
  script.group_of = {0, 1};
  EXPECT_FALSE(brings_optimizer(script));
  EXPECT_EQ(optimizer_in_words(script), "");
  const ShardOptions server{.optimizer = Spec::parse("momentum:mu=0.5"), .weight_decay = 0.01};
  const update::Groups groups = with_script(server, script).groups.value();
  ASSERT_EQ(groups.groups.size(), 2U);
  EXPECT_EQ(groups.groups[0].optimizer.text, "momentum:mu=0.5");
  EXPECT_EQ(groups.groups[0].rate, 1.0);
  EXPECT_EQ(groups.groups[0].weight_decay, 0.01);
  EXPECT_EQ(groups.groups[1].optimizer.text, "average:mu=0.9");
  EXPECT_FALSE(with_script(server, {}).groups.has_value());
}

}  // namespace
}  // namespace outpace::server
