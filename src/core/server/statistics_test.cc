#include "server/statistics.h"

#include <gtest/gtest.h>

#include "base/kept_test.h"

namespace outpace::server {
namespace {

TEST(KeptStatistics, AreAllCountsButNoRuntimes) {
  Statistics from{.updates = 5,
                  .gradients_applied = 7,
                  .examples_applied = 70,
                  .training_loss = 0.5,
                  .gradient_noise_scale = 3.0,
                  .staleness = {4, 3},
                  .workers = {{.live = true,
                               .incarnations = 2,
                               .accepted = 7,
                               .examples_applied = 70,
                               .runtimes = {0.1F, 0.2F},
                               .host = "vm"}},
                  .epochs_complete = 1};
  Statistics to;
  copy_kept(from, to);
  EXPECT_EQ(to.updates, 5U);
  EXPECT_EQ(to.gradient_noise_scale, 3.0);
  EXPECT_EQ(to.staleness, from.staleness);
  EXPECT_EQ(to.staleness_mean(), 3.0 / 7.0);
  ASSERT_EQ(to.workers.size(), 1U);
  EXPECT_EQ(to.workers[0].accepted, 7U);
  EXPECT_EQ(to.workers[0].incarnations, 2U);
  EXPECT_EQ(to.workers[0].host, "vm");
  EXPECT_FALSE(to.workers[0].live);
  EXPECT_TRUE(to.workers[0].runtimes.empty());
}

}  // namespace
}  // namespace outpace::server
