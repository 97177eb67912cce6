#include "simulation/distributions.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace outpace::simulation {
namespace {

TEST(Distributions, AreListedWithTheirOptions) {
  const std::vector<DistributionDoc> docs = distributions();
  const auto found = std::ranges::find(docs, "lognormal", &DistributionDoc::name);
  ASSERT_NE(found, docs.end());
  EXPECT_FALSE(found->rule.empty());
  ASSERT_EQ(found->options.size(), 2U);
  EXPECT_EQ(found->options[0].name, "mean");
}

}  // namespace
}  // namespace outpace::simulation
