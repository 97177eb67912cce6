#include "job/gossip_options.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

using Gossip = Declared<GossipOptions>;

std::string refusal(Gossip& gossip) {
  return refusal_of([&] { fit_gossip(gossip.options, gossip.job); });
}

TEST(GossipOptions, ADefaultGossipIsThatOfThePaper) {
  Gossip gossip;
  EXPECT_EQ(refusal(gossip), "accepted");
  EXPECT_EQ(gossip.job.averaging, Averaging::kCoupled);
  EXPECT_EQ(gossip.job.graph, worker::Graph::kBipartite);
}

TEST(GossipOptions, WhereOneMovesAnyTwoAreNeighboursUnlessToldOtherwise) {
  for (const char* word : {"pull", "push"}) {
    Gossip alone;
    alone.give("gossip", word);
    EXPECT_EQ(refusal(alone), "accepted");
    EXPECT_EQ(alone.job.graph, worker::Graph::kComplete);
    Gossip told;
    told.give("gossip", word).give("graph", "bipartite");
    EXPECT_EQ(refusal(told), "accepted");
    EXPECT_EQ(told.job.graph, worker::Graph::kBipartite);
  }
}

TEST(GossipOptions, WhereBothMoveThereAreSides) {
  Gossip gossip;
  gossip.give("gossip", "free").give("graph", "complete");
  EXPECT_EQ(refusal(gossip),
            "--graph complete conflicts with --gossip free: workers that ask each other would wait "
            "in a circle; take --graph bipartite, or --gossip pull or push");
  gossip.give("graph", "exponential");
  EXPECT_EQ(refusal(gossip), "accepted");
}

TEST(GossipOptions, EasgdAveragesSeldomAndHasNoGraph) {
  Gossip gossip;
  gossip.give("gossip", "easgd");
  EXPECT_EQ(refusal(gossip), "accepted");
  EXPECT_EQ(gossip.job.average_every, 10);
  gossip.give("average-every", "1");
  EXPECT_EQ(refusal(gossip), "accepted");
  EXPECT_EQ(gossip.job.average_every, 1);
  gossip.give("graph", "ring");
  EXPECT_EQ(
      refusal(gossip),
      "--graph conflicts with --gossip easgd, whose workers meet the centre alone; remove it");
  Gossip coupled;
  coupled.give("elasticity", "0.5");
  EXPECT_EQ(refusal(coupled),
            "--elasticity conflicts with --gossip coupled: it belongs to easgd; remove it");
}

}  // namespace
}  // namespace outpace::job
