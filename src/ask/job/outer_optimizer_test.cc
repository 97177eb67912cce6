#include "job/outer_optimizer.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace outpace::job {
namespace {

TEST(OuterOptimizer, HasItsRateAmongItsOptions) {
  const OuterOptimizer mean = parse_outer(Spec::parse("sgd:lr=1"));
  EXPECT_EQ(mean.optimizer.text, "sgd");
  EXPECT_EQ(mean.rate, 1.0);
  const OuterOptimizer momentum = parse_outer(Spec::parse("momentum:mu=0.5,lr=0.25,over=update"));
  EXPECT_EQ(momentum.optimizer.text, "momentum:mu=0.5,over=update");
  EXPECT_EQ(momentum.rate, 0.25);
  EXPECT_EQ(parse_outer(Spec::parse("nesterov")).rate, 0.7);
  EXPECT_THROW((void)parse_outer(Spec::parse("nesterov:lr=-1")), Error);
  EXPECT_THROW((void)parse_outer(Spec::parse("nesterof")), Error);
  EXPECT_THROW((void)parse_outer(Spec::parse("sgd:rate=1")), Error);
}

TEST(OuterOptimizer, ANesterovIsDelayedUnlessItSaysOtherwise) {
  const auto outer = [](const char* spec) { return parse_outer(Spec::parse(spec)).optimizer.text; };
  EXPECT_EQ(outer("nesterov"), "nesterov:over=delayed");
  EXPECT_EQ(outer("nesterov:0.8,lr=0.5"), "nesterov:0.8,over=delayed");
  EXPECT_EQ(outer("nesterov:over=round"), "nesterov:over=round");
  EXPECT_EQ(outer("nesterov:over=update,lr=1"), "nesterov:over=update");
  EXPECT_EQ(outer("momentum:mu=0.5"), "momentum:mu=0.5");
}

}  // namespace
}  // namespace outpace::job
