#include "collective/replicas.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "worker/neighbour.h"

namespace outpace::collective {
namespace {

using Weights = std::vector<float>;

TEST(MeetHalfway, TwoAloneAgree) {
  Weights a{1.0F, -2.0F};
  Weights b{3.0F, 6.0F};
  const Weights a_then = a;
  const Weights b_then = b;
  meet_halfway(a, a_then, b_then);
  meet_halfway(b, b_then, a_then);
  EXPECT_EQ(a, (Weights{2.0F, 2.0F}));
  EXPECT_EQ(b, (Weights{2.0F, 2.0F}));
}

TEST(MeetHalfway, AGradientAppliedInBetweenStaysWhole) {
  Weights a{1.0F};
  const Weights a_then = a;
  a[0] -= 0.25F;  // While the weights were under way.
  meet_halfway(a, a_then, Weights{3.0F});
  EXPECT_EQ(a, Weights{1.75F});
}

// The largest distance of a replica from the mean.
float spread(const std::vector<Weights>& replicas) {
  const Weights mean = mean_of(replicas);
  float most = 0.0F;
  for (const Weights& replica : replicas) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      most = std::max(most, std::abs(replica[i] - mean[i]));
    }
  }
  return most;
}

TEST(MeetHalfway, ManyMeetingsKeepTheMeanAndEndTheDifferences) {
  constexpr std::uint32_t kWorkers = 8;
  std::vector<Weights> replicas(kWorkers, Weights(3));
  Rng rng(5, 0);
  for (Weights& replica : replicas) {
    std::ranges::generate(replica, [&] { return static_cast<float>(rng.normal()); });
  }
  const Weights before = mean_of(replicas);
  ASSERT_GT(spread(replicas), 0.5F);
  std::vector<worker::Neighbours> neighbours;
  for (std::uint32_t rank = 0; rank < kWorkers; rank += 2) {
    neighbours.emplace_back(
        rank, worker::neighbours_of(rank, kWorkers, worker::Graph::kBipartite, true), 3);
  }
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t asks = i % neighbours.size();
    Weights& a = replicas[2 * asks];
    Weights& b = replicas[neighbours[asks].next()];
    const Weights a_then = a;
    const Weights b_then = b;
    meet_halfway(a, a_then, b_then);
    meet_halfway(b, b_then, a_then);
  }
  EXPECT_LT(spread(replicas), 1e-5F);
  const Weights after = mean_of(replicas);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i], 1e-6F);
  }
}

TEST(MeanWith, CountsEachOnce) {
  Weights mine{1.0F, 4.0F};
  mean_with(mine, Weights{8.0F, 2.0F}, 2);
  EXPECT_EQ(mine, (Weights{3.0F, 2.0F}));
}

TEST(MeanOf, IsOfAll) {
  EXPECT_EQ(mean_of(std::vector<Weights>{{1.0F, 4.0F}}), (Weights{1.0F, 4.0F}));
  EXPECT_EQ(mean_of(std::vector<Weights>{{1.0F, 4.0F}, {2.0F, 0.0F}, {6.0F, 2.0F}}),
            (Weights{3.0F, 2.0F}));
}

}  // namespace
}  // namespace outpace::collective
