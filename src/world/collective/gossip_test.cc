#include "collective/gossip.h"

#include <array>
#include <atomic>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "collective/run_test.h"

namespace outpace::collective {
namespace {

constexpr std::uint32_t kPeers = 4;

// What became of a gossip whose worker k begins with all weights at k / 5.
struct GossipEnd {
  HostResult found;
  std::array<std::atomic<std::uint64_t>, kPeers> meetings{};
  std::array<std::atomic<std::uint64_t>, kPeers> gradients{};
};

// Without waiting, a gradient is so quick that few meetings come to many. With a centre a worker
// waits for no other, so that one may be done before another has met the centre often.
constexpr std::uint64_t updates_of(Averaging averaging) {
  const bool waits_for_others = averaging != Averaging::kFree && averaging != Averaging::kElastic;
  return waits_for_others ? 1'000 : 10'000;
}

// With a rate of 0 only averaging changes weights.
void run_without_learning(Averaging averaging,
                          worker::Graph graph,
                          GossipEnd& ended,
                          const std::string& packed = "none") {
  ended.found = run_in_threads(
      {.topology = Topology::kGossip,
       .centre = averaging == Averaging::kElastic,
       .workers = kPeers,
       .limits = {.updates = updates_of(averaging)}},
      [&](const GroupOptions& meeting, const live::SessionOptions& session) {
        Distances source;
        const worker::Pace pace{worker::PaceOptions{}};
        Gossip gossip({.worker = session.worker,
                       .batches = {.workers = kPeers, .batch = 4, .examples = 100},
                       .rule = {.optimizer = Spec::parse("sgd"), .rate = 0.0},
                       .averaging = averaging,
                       .graph = graph,
                       .compression = compress::Compression::parse(packed)},
                      std::vector<float>(5, 0.2F * static_cast<float>(index(session.worker))),
                      meeting,
                      source,
                      pace);
        Member member(session, {.manifest = source.manifest(), .dataset_examples = 100}, [&] {
          return gossip.weights();
        });
        gossip.run(member);
        ended.meetings.at(index(session.worker)) = gossip.meetings();
        ended.gradients.at(index(session.worker)) = gossip.gradients();
      });
  EXPECT_EQ(ended.found.code, ExitCode::kDone) << ended.found.why;
  EXPECT_GE(ended.found.statistics.updates, updates_of(averaging));
}

// Each gradient went with exactly one averaging that its worker began. The last averaging may have
// been for a gradient that the end of the run left out.
void expect_coupled(const GossipEnd& ended) {
  for (std::uint32_t worker = 0; worker < kPeers; ++worker) {
    EXPECT_GE(ended.meetings.at(worker), ended.gradients.at(worker)) << worker;
    EXPECT_LE(ended.meetings.at(worker), ended.gradients.at(worker) + 1) << worker;
  }
}

// Accuracy is the first weight, so the worst replica is the least of them.
void expect_together(const GossipEnd& ended, float least, float most) {
  for (const float weight : ended.found.weights) {
    EXPECT_GE(weight, least);
    EXPECT_LE(weight, most);
  }
  ASSERT_TRUE(ended.found.worst_replica.has_value());
  EXPECT_NEAR(*ended.found.worst_replica, ended.found.weights.front(), 0.1);
}

TEST(Gossip, MeetingsKeepTheMeanAndBringTheWorkersTogether) {
  for (const worker::Graph graph :
       {worker::Graph::kBipartite, worker::Graph::kRing, worker::Graph::kExponential}) {
    GossipEnd ended;
    run_without_learning(Averaging::kCoupled, graph, ended);
    expect_coupled(ended);
    expect_together(ended, 0.3F - 1e-6F, 0.3F + 1e-6F);
  }
}

TEST(Gossip, FreeOnlyOneSideBeginsMeetingsAndNoGradientWaits) {
  GossipEnd ended;
  run_without_learning(Averaging::kFree, worker::Graph::kBipartite, ended);
  for (std::uint32_t worker = 0; worker < kPeers; ++worker) {
    EXPECT_EQ(ended.meetings.at(worker) > 0, worker % 2 == 0);
    EXPECT_LE(ended.meetings.at(worker), ended.gradients.at(worker) + 1);
  }
  expect_together(ended, 0.3F - 1e-6F, 0.3F + 1e-6F);
}

// Jin et al.: the worker that receives is the only one that moves. The workers come together, but
// where they do so depends on who pulled; it is between the least and the most of the first
// weights.
TEST(Gossip, PullsAndPushesBringTheWorkersTogether) {
  for (const Averaging averaging : {Averaging::kPull, Averaging::kPush}) {
    for (const worker::Graph graph : {worker::Graph::kComplete, worker::Graph::kRing}) {
      GossipEnd ended;
      run_without_learning(averaging, graph, ended);
      expect_coupled(ended);
      expect_together(ended, 0.0F, 0.6F);
    }
  }
}

// The sum of all weights and the centre, at first worker 0's, stays: all end at 1.2 / 5.
TEST(Gossip, ElasticAveragingBringsAllToTheMeanWithTheCentre) {
  GossipEnd ended;
  run_without_learning(Averaging::kElastic, worker::Graph::kBipartite, ended);
  expect_coupled(ended);
  expect_together(ended, 0.24F - 1e-4F, 0.24F + 1e-4F);
}

TEST(Gossip, PackedMeetingsKeepTheMeanToo) {
  // Workers that agree still move by a rounding, so that a meeting that the end of the run breaks
  // off may change the mean by that.
  for (const auto& [packed, rounding] : {std::pair("bf16", 0.6F / 256),
                                         std::pair("int8", 0.6F / 127),
                                         std::pair("int4", 0.6F / 7)}) {
    SCOPED_TRACE(packed);
    GossipEnd ended;
    run_without_learning(Averaging::kCoupled, worker::Graph::kBipartite, ended, packed);
    expect_coupled(ended);
    expect_together(ended, 0.3F - rounding, 0.3F + rounding);
    EXPECT_GT(ended.found.statistics.traffic.weights.payloads, 1000U);
    EXPECT_EQ(ended.found.statistics.traffic.gradients.payloads, 0U);
  }
  GossipEnd ended;
  run_without_learning(Averaging::kElastic, worker::Graph::kBipartite, ended, "int8");
  expect_together(ended, 0.24F - 1e-2F, 0.24F + 1e-2F);
}

}  // namespace
}  // namespace outpace::collective
