#include <gtest/gtest.h>

#include "peers/cluster.h"
#include "peers/four_workers_test.h"

namespace outpace::peers {
namespace {

TEST(PeerCluster, ARingUsesEveryExampleOfEveryEpoch) {
  const peer::Outcome result = run_four(ring_of_four());
  EXPECT_EQ(result.code, ExitCode::kDone) << result.why;
  EXPECT_EQ(result.examples, 3000U);
  EXPECT_EQ(result.updates, 150U);
  EXPECT_EQ(result.groups, 1U);
}

TEST(PeerCluster, ARingTakesAsLongAsItsSlowestWorkerAndTheSum) {
  Options options = ring_of_four();
  options.transfer = std::chrono::milliseconds(40);
  sim::DrawnTiming timing = timing_of("3*constant(100ms),constant(200ms)");
  const peer::Outcome result = Cluster(options, timing).run();
  // 200 ms, and 2 x 3 x (1 ms + 40 ms / 4); up to 23 ms more.
  EXPECT_GT(to_seconds(result.ended), 150 * 0.266);
  EXPECT_LT(to_seconds(result.ended), 150 * 0.289);
}

TEST(PeerCluster, APackedSumTakesTwoRoundsFromAllToAll) {
  Options options = ring_of_four();
  options.transfer = std::chrono::milliseconds(400);
  options.format = {.kind = compress::Kind::kInt8};
  sim::DrawnTiming timing = timing_of("3*constant(100ms),constant(200ms)");
  const peer::Outcome result = Cluster(options, timing).run();
  // A block of 64 takes 66 bytes of 256: 200 ms, and 2 x (1 ms + 3 / 4 x 103 ms); up to 160 ms
  // more.
  EXPECT_GT(to_seconds(result.ended), 150 * 0.356);
  EXPECT_LT(to_seconds(result.ended), 150 * 0.520);
  options.format = {};
  sim::DrawnTiming again = timing_of("3*constant(100ms),constant(200ms)");
  EXPECT_GT(to_seconds(Cluster(options, again).run().ended), 150 * 0.8);
}

TEST(PeerCluster, ARingGoesOnWithoutWorkersThatDie) {
  const peer::Outcome result =
      run_four(ring_of_four(), {"crash:worker=2,at=3s", "crash:worker=0,at=5s"});
  EXPECT_EQ(result.code, ExitCode::kDone) << result.why;
  EXPECT_EQ(result.examples, 3000U);
  EXPECT_EQ(result.counts.crashed, 2U);
  EXPECT_GE(result.groups, 3U);
  EXPECT_TRUE(result.workers[2].lost);
}

}  // namespace
}  // namespace outpace::peers
