#include <gtest/gtest.h>

#include "peers/cluster.h"
#include "peers/four_workers_test.h"

namespace outpace::peers {
namespace {

TEST(PeerCluster, AClosedConnectionMakesAllConnectAnew) {
  for (Options options : {ring_of_four(), gossip_of_four(peer::Averaging::kPull)}) {
    const peer::Outcome result = run_four(options, {"lose:at=1s,for=10s,probability=0.002"});
    if (options.kind == Kind::kGossip) {
      EXPECT_GT(result.counts.connections, 0U);
      EXPECT_GT(result.groups, 1U);
    }
    EXPECT_EQ(result.code, ExitCode::kDone) << result.why;
    EXPECT_FALSE(result.workers[0].lost);
  }
}

TEST(PeerCluster, TooFewWorkersEndTheRun) {
  const peer::Outcome result = run_four(
      ring_of_four(), {"crash:worker=0,at=1s", "crash:worker=1,at=2s", "crash:worker=2,at=3s"});
  EXPECT_EQ(result.code, ExitCode::kTooFewWorkers);
  EXPECT_EQ(result.why, "too few workers: 1 of 4 left; worker 2 is gone: connection lost");
}

}  // namespace
}  // namespace outpace::peers
