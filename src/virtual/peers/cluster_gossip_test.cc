#include <gtest/gtest.h>

#include "peers/cluster.h"
#include "peers/four_workers_test.h"

namespace outpace::peers {
namespace {

TEST(PeerCluster, AGossipsGradientGoesWithOneMeeting) {
  for (const peer::Averaging averaging : kAllAveragings) {
    const peer::Outcome result = run_four(gossip_of_four(averaging));
    EXPECT_EQ(result.code, ExitCode::kDone) << result.why;
    EXPECT_GE(result.updates, 400U);
    EXPECT_LT(result.updates, 410U);
    if (averaging != peer::Averaging::kFree) {
      EXPECT_GE(result.workers[1].meetings, result.workers[1].gradients);
    }
  }
}

TEST(PeerCluster, PackedWeightsTakeLessOfALink) {
  for (const peer::Averaging averaging : {peer::Averaging::kCoupled, peer::Averaging::kPull}) {
    Options options = gossip_of_four(averaging);
    options.transfer = std::chrono::seconds(2);
    const double plain = to_seconds(run_four(options).ended);
    options.format = {.kind = compress::Kind::kInt4};
    EXPECT_LT(to_seconds(run_four(options).ended), 0.25 * plain);
  }
}

TEST(PeerCluster, AGossipGoesOnWithoutWorkersThatDie) {
  for (const peer::Averaging averaging : kAllAveragings) {
    const peer::Outcome result =
        run_four(gossip_of_four(averaging), {"crash:worker=0,at=2s", "crash:worker=3,at=2200ms"});
    EXPECT_EQ(result.code, ExitCode::kDone) << result.why;
    EXPECT_EQ(result.groups, 3U);
    EXPECT_LT(result.workers[0].gradients, result.workers[1].gradients);
  }
}

}  // namespace
}  // namespace outpace::peers
