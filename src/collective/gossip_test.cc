#include "collective/gossip.h"

#include <gtest/gtest.h>

#include "collective/run_test.h"

namespace outpace::collective {
namespace {

// With a rate of 0 only meetings change weights: who begins apart comes together, around the mean.
TEST(Gossip, MeetingsKeepTheMeanAndBringTheWorkersTogether) {
  constexpr std::uint32_t kWorkers = 4;
  const HostResult found = run_in_threads(
      {.topology = Topology::kGossip, .workers = kWorkers, .limits = {.updates = 10'000}},
      [](const GroupOptions& meeting, const live::SessionOptions& session) {
        Distances source;
        const worker::Pace pace{worker::PaceOptions{}};
        Gossip gossip({.worker = session.worker,
                       .batches = {.workers = kWorkers, .batch = 4, .examples = 100},
                       .rule = {.optimizer = Spec::parse("sgd"), .rate = 0.0}},
                      std::vector<float>(5, 0.2F * static_cast<float>(index(session.worker))),
                      meeting,
                      source,
                      pace);
        Member member(session, {.manifest = source.manifest(), .dataset_examples = 100}, [&] {
          return gossip.weights();
        });
        gossip.run(member);
        EXPECT_EQ(gossip.meetings() > 0, index(session.worker) % 2 == 0);
      });
  EXPECT_EQ(found.code, ExitCode::kDone) << found.why;
  EXPECT_GE(found.statistics.updates, 10'000U);
  for (const float weight : found.weights) {
    EXPECT_NEAR(weight, 0.3F, 1e-6F);
  }
  // Accuracy is the first weight, so the worst replica is the least of them.
  ASSERT_TRUE(found.worst_replica.has_value());
  EXPECT_GT(*found.worst_replica, 0.2);  // It was 0.
}

}  // namespace
}  // namespace outpace::collective
