#include "policy/warm_up.h"

#include <utility>

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

constexpr WorkerId kOne{3};

WarmUp warm() {
  WarmUp warm_up;
  warm_up.join(kOne);
  for (std::uint32_t i = 0; i < WarmUp::kMiniBatches; ++i) {
    EXPECT_TRUE(warm_up.cold(kOne)) << i;
    warm_up.end(kOne);
  }
  return warm_up;
}

TEST(WarmUp, EndsAfterTheFirstMiniBatchesOfAProcess) {
  EXPECT_FALSE(warm().cold(kOne));
}

TEST(WarmUp, CountsReleasesOfSeveralMiniBatches) {
  for (const auto& [mini_batches, releases] :
       {std::pair{1U, 5U}, {2U, 3U}, {4U, 2U}, {5U, 1U}, {100U, 1U}}) {
    WarmUp warm_up(mini_batches);
    warm_up.join(kOne);
    for (std::uint32_t i = 0; i < releases; ++i) {
      EXPECT_TRUE(warm_up.cold(kOne)) << mini_batches;
      warm_up.end(kOne);
    }
    EXPECT_FALSE(warm_up.cold(kOne)) << mini_batches;
  }
}

TEST(WarmUp, BeginsAgainWithAnotherProcess) {
  for (const Departure how : {Departure::kLeft, Departure::kDead}) {
    WarmUp warm_up = warm();
    warm_up.leave(kOne, how);
    warm_up.join(kOne);
    EXPECT_TRUE(warm_up.cold(kOne));
  }
}

TEST(WarmUp, IsOverForTheSameProcess) {
  for (const Departure how : {Departure::kStalled, Departure::kDrained}) {
    WarmUp warm_up = warm();
    warm_up.leave(kOne, how);
    warm_up.join(kOne);
    EXPECT_FALSE(warm_up.cold(kOne));
  }
}

}  // namespace
}  // namespace outpace::policy
