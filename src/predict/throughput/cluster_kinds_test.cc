#include "throughput/cluster_kinds.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::throughput {
namespace {

TEST(ClusterKinds, AreCombinationsOfPoliciesAndShards) {
  const auto kinds = cluster_kinds({Topology::kServer}, {"sync", "async"}, {1, 4}, {0});
  ASSERT_EQ(kinds.size(), 4);
  EXPECT_EQ(kinds[0].policy, "sync");
  EXPECT_EQ(kinds[0].shards, 1);
  EXPECT_EQ(kinds[1].policy, "sync");
  EXPECT_EQ(kinds[1].shards, 4);
  EXPECT_EQ(kinds[2].policy, "async");
  EXPECT_EQ(kinds[2].shards, 1);
}

TEST(ClusterKinds, HaveEachNumberOfLocalStepsWithAServer) {
  const auto kinds = cluster_kinds({Topology::kServer, Topology::kRing}, {"sync"}, {1}, {1, 10});
  ASSERT_EQ(kinds.size(), 3);
  EXPECT_EQ(kinds[0].local_steps, 1);
  EXPECT_EQ(kinds[1].local_steps, 10);
  EXPECT_EQ(kinds[2].local_steps, 0);
  EXPECT_EQ(steps_of({}), std::vector<std::uint32_t>{0});
  EXPECT_EQ(steps_in_words(0), "");
  EXPECT_EQ(steps_in_words(1), ", 1 local step");
  EXPECT_EQ(steps_in_words(50), ", 50 local steps");
}

TEST(ClusterKinds, HaveNoPolicyAndNoShardsWithoutAServer) {
  const auto kinds =
      cluster_kinds({Topology::kRing, Topology::kGossip}, {"sync", "async"}, {1, 2}, {0, 10});
  ASSERT_EQ(kinds.size(), 2);
  EXPECT_EQ(kinds[0].topology, Topology::kRing);
  EXPECT_EQ(kinds[0].policy, "");
  EXPECT_EQ(kinds[0].shards, 0);
  EXPECT_EQ(kinds[1].topology, Topology::kGossip);
}

TEST(ClusterKinds, ReadTopologiesByName) {
  EXPECT_EQ(topologies_of({"gossip", "ps"}),
            (std::vector<Topology>{Topology::kGossip, Topology::kServer}));
  EXPECT_EQ(topologies_of({}), std::vector<Topology>{Topology::kServer});
  EXPECT_EQ(refusal_of([] { (void)topologies_of({"tree"}); }),
            "--topology is 'tree'; it takes ps, ring or gossip");
}

TEST(ClusterKinds, AGossipTakesTwoWorkers) {
  const ClusterKind gossip{"", Topology::kGossip, 0};
  EXPECT_EQ(too_few_workers(gossip, 1), "a gossip takes at least 2 workers");
  EXPECT_FALSE(too_few_workers(gossip, 2));
  EXPECT_FALSE(too_few_workers({"sync", Topology::kServer, 1}, 1));
  EXPECT_EQ(name_of_kind(gossip), "gossip");
}

}  // namespace
}  // namespace outpace::throughput
