#include "worker/ledger.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace outpace::worker {
namespace {

std::vector<float> gradient_of(Ledger& ledger, std::span<const std::uint64_t> examples) {
  std::vector<float> gradient(ledger.dataset_examples(), -1.0F);
  EXPECT_TRUE(ledger.compute({}, examples, gradient, [] { return false; }).has_value());
  return gradient;
}

TEST(Ledger, CountsEachExampleOfTheMean) {
  Ledger ledger(4);
  const std::array<std::uint64_t, 4> examples{0, 2, 2, 2};
  EXPECT_EQ(gradient_of(ledger, examples), (std::vector<float>{0.25F, 0.0F, 0.75F, 0.0F}));
}

TEST(Ledger, BreaksEveryThirdGradientIfAskedTo) {
  Ledger ledger(2, /*broken_every=*/3);
  const std::array<std::uint64_t, 1> examples{0};
  for (int i = 1; i <= 6; ++i) {
    EXPECT_EQ(std::isnan(gradient_of(ledger, examples).back()), i % 3 == 0) << i;
  }
}

TEST(Ledger, ComputesNothingWhenItIsCancelled) {
  Ledger ledger(2);
  std::vector<float> gradient(2);
  const std::array<std::uint64_t, 1> examples{0};
  EXPECT_FALSE(ledger.compute({}, examples, gradient, [] { return true; }).has_value());
}

}  // namespace
}  // namespace outpace::worker
