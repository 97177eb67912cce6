#include "collective/stepper.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/shard.h"

namespace outpace::collective {
namespace {

// The server's shard, of one worker, is the twin: the same weights to the bit.
TEST(Stepper, DoesWhatTheServersShardDoes) {
  for (const std::string optimizer : {"sgd", "momentum:mu=0.9", "adamw", "lamb"}) {
    SCOPED_TRACE(optimizer);
    const std::vector<std::size_t> tensors{2, 1};
    std::vector<float> weights{1.0F, -2.0F, 0.5F};
    const StepRule rule{.optimizer = Spec::parse(optimizer), .rate = 0.1, .weight_decay = 0.01};
    Stepper stepper(rule, tensors);
    server::Shard shard(
        {.optimizer = rule.optimizer, .weight_decay = rule.weight_decay}, weights, tensors);
    for (std::uint64_t i = 1; i <= 5; ++i) {
      const std::vector<float> gradient{0.5F, -1.0F / static_cast<float>(i), 2.0F};
      stepper.step({.examples = 4, .nominal = 4, .applied = 4 * i}, gradient, weights);
      ASSERT_TRUE(shard.hold(WorkerId{0}, gradient));
      shard.accept({.worker = WorkerId{0}, .sequence = Sequence{i}, .weight = 1.0, .examples = 4});
      shard.step({.rate = 0.1});
      EXPECT_EQ(weights, std::vector<float>(shard.weights().begin(), shard.weights().end()));
    }
  }
}

TEST(Stepper, TheRateFollowsScheduleAndScale) {
  std::vector<float> weights{1.0F};
  Stepper stepper({.optimizer = Spec::parse("sgd"),
                   .rate = 0.5,
                   .schedule = update::Schedule::parse(Spec::parse("step:every=100,factor=0.5")),
                   .rate_scale = update::RateScale::kLinear},
                  {1});
  const std::vector<float> gradient{1.0F};
  stepper.step({.examples = 8, .nominal = 8, .applied = 8}, gradient, weights);
  EXPECT_FLOAT_EQ(weights[0], 0.5F);
  stepper.step({.examples = 4, .nominal = 8, .applied = 150}, gradient, weights);
  EXPECT_FLOAT_EQ(weights[0], 0.5F - 0.5F * 0.5F * 0.5F);
}

}  // namespace
}  // namespace outpace::collective
