#include "peers/cluster.h"

#include <gtest/gtest.h>

#include "peers/four_workers_test.h"

namespace outpace::peers {
namespace {

TEST(PeerCluster, AWorkerThatStandsStillForTooLongIsLost) {
  const Result lost = run_four(ring_of_four(), {"pause:worker=1,at=2s,for=8s"});
  EXPECT_EQ(lost.counts.silenced, 1U);
  EXPECT_TRUE(lost.workers[1].lost);
  const Result kept = run_four(ring_of_four(), {"pause:worker=1,at=2s,for=3s"});
  EXPECT_EQ(kept.counts.silenced, 0U);
  EXPECT_FALSE(kept.workers[1].lost);
}

TEST(PeerCluster, TimeEndsARunInOrder) {
  Options options = ring_of_four();
  options.seconds = std::chrono::seconds(5);
  const Result result = run_four(options);
  EXPECT_EQ(result.why, "time is up");
  EXPECT_LT(to_seconds(result.ended), 6.0);
  EXPECT_EQ(run_four(options).hash, result.hash);
  options.seed = 2;
  EXPECT_NE(run_four(options).hash, result.hash);
}

TEST(PeerCluster, SaysWhichFaultsThereCanBe) {
  EXPECT_THROW(run_four(ring_of_four(), {"crash:worker=0,at=1s,for=5s"}), Error);
  EXPECT_THROW(run_four(ring_of_four(), {"partition:workers=1,at=1s,for=5s"}), Error);
}

}  // namespace
}  // namespace outpace::peers
