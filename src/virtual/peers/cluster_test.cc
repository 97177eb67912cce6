#include "peers/cluster.h"

#include <map>

#include <gtest/gtest.h>

#include "peer/replayed.h"
#include "peers/four_workers_test.h"

namespace outpace::peers {
namespace {

TEST(PeerCluster, AWorkerThatStandsStillForTooLongIsLost) {
  const peer::Outcome lost = run_four(ring_of_four(), {"pause:worker=1,at=2s,for=8s"});
  EXPECT_EQ(lost.counts.silenced, 1U);
  EXPECT_TRUE(lost.workers[1].lost);
  const peer::Outcome kept = run_four(ring_of_four(), {"pause:worker=1,at=2s,for=3s"});
  EXPECT_EQ(kept.counts.silenced, 0U);
  EXPECT_FALSE(kept.workers[1].lost);
}

TEST(PeerCluster, TimeEndsARunInOrder) {
  Options options = ring_of_four();
  options.seconds = std::chrono::seconds(5);
  const peer::Outcome result = run_four(options);
  EXPECT_EQ(result.why, "time is up");
  EXPECT_LT(to_seconds(result.ended), 6.0);
  EXPECT_EQ(run_four(options).hash, result.hash);
  options.seed = 2;
  EXPECT_NE(run_four(options).hash, result.hash);
}

// As they decide, each is told the same events a second time.
std::size_t expect_again(const Options& options, const std::vector<std::string>& faults) {
  const peer::Setting setting{
      .topology = options.kind == Kind::kRing ? worker::Topology::kRing : worker::Topology::kGossip,
      .batches = options.batches,
      .evaluate_every = kEvaluateEvery,
      .averaging = options.averaging,
      .graph = options.graph,
      .average_every = options.average_every,
      .seed = options.seed};
  std::map<std::optional<WorkerId>, peer::Replayed> again;
  std::size_t decisions = 0;
  (void)run_four(options,
                 faults,
                 [&](Time /*now*/,
                     std::optional<WorkerId> worker,
                     const std::string& event,
                     const std::string& decided) {
                   auto& member = again.try_emplace(worker, setting, worker).first->second;
                   ASSERT_EQ(member.decide(event), decided) << event;
                   ++decisions;
                 });
  EXPECT_EQ(again.size(), 1U + kFour);
  return decisions;
}

TEST(PeerCluster, FromTheSameEventsTheSameIsDecided) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<std::string> faults{"crash:worker=" + std::to_string(seed % kFour) + ",at=7s",
                                          "pause:worker=3,at=2s,for=3s",
                                          "lose:at=1s,for=9s,probability=0.02"};
    Options ring = ring_of_four();
    ring.seed = seed;
    EXPECT_GT(expect_again(ring, faults), 300U);
    for (const peer::Averaging averaging : kAllAveragings) {
      Options gossip = gossip_of_four(averaging);
      gossip.seed = seed;
      gossip.average_every = averaging == peer::Averaging::kElastic ? 3 : 1;
      EXPECT_GT(expect_again(gossip, faults), 1000U);
    }
  }
}

TEST(PeerCluster, SaysWhichFaultsThereCanBe) {
  EXPECT_THROW(run_four(ring_of_four(), {"crash:worker=0,at=1s,for=5s"}), Error);
  EXPECT_THROW(run_four(ring_of_four(), {"partition:workers=1,at=1s,for=5s"}), Error);
}

}  // namespace
}  // namespace outpace::peers
