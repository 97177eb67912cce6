#include "collective/ring.h"

#include <mutex>

#include <gtest/gtest.h>

#include "collective/run_test.h"

namespace outpace::collective {
namespace {

constexpr std::uint32_t kWorkers = 3;
constexpr std::uint32_t kBatch = 4;
constexpr std::uint64_t kSeed = 9;

PeerOptions peer(WorkerId worker, std::uint64_t updates, std::size_t bucket_bytes) {
  return {.worker = worker,
          .batches = {.workers = kWorkers, .batch = kBatch, .examples = 100, .updates = updates},
          .seed = kSeed,
          .rule = {.optimizer = Spec::parse("sgd"), .rate = 0.25},
          .bucket_bytes = bucket_bytes};
}

// One worker with all the examples of each update, in double.
double plain_weight(std::uint64_t updates) {
  worker::Order order(100, kSeed, /*with_replacement=*/false);
  double weight = 1.0;
  for (std::uint64_t update = 0; update < updates; ++update) {
    const std::uint64_t begin = update * kWorkers * kBatch;
    double mean = 0.0;
    for (const std::uint64_t example : order.examples({{0, begin, begin + kWorkers * kBatch}})) {
      mean += static_cast<double>(example) / (kWorkers * kBatch);
    }
    weight -= 0.25 * (weight - mean);
  }
  return weight;
}

TEST(Ring, AllHaveTheWeightsOfOneWorkerWithAllExamples) {
  for (const std::size_t bucket_bytes : {1U, 12U, 1U << 20U}) {
    SCOPED_TRACE(bucket_bytes);
    constexpr std::uint64_t kUpdates = 6;
    std::mutex mutex;
    std::vector<std::vector<float>> all;
    const HostResult found = run_in_threads(
        {.topology = Topology::kRing, .workers = kWorkers, .limits = {.updates = kUpdates}},
        [&](GlooGroup& group, const live::SessionOptions& session) {
          Distances source;
          const worker::Pace pace{worker::PaceOptions{}};
          Ring ring(peer(session.worker, kUpdates, bucket_bytes),
                    source.initial_weights(),
                    group,
                    source,
                    pace);
          Member member(session, {.manifest = source.manifest(), .dataset_examples = 100}, [&] {
            return ring.weights();
          });
          ring.run(member);
          member.leave();
          const std::lock_guard lock(mutex);
          all.push_back(ring.weights());
        });
    EXPECT_EQ(found.code, ExitCode::kDone);
    EXPECT_EQ(found.statistics.updates, kUpdates);
    ASSERT_EQ(all.size(), kWorkers);
    for (const std::vector<float>& weights : all) {
      EXPECT_EQ(weights, found.weights);  // To the bit.
    }
    const double expected = plain_weight(kUpdates);
    for (const float weight : found.weights) {
      EXPECT_NEAR(weight, expected, 1e-5 * expected);
    }
  }
}

TEST(Ring, AllEndWithTheSameUpdateWhenTheyAreToldTo) {
  std::mutex mutex;
  std::vector<std::vector<float>> all;
  const HostResult found = run_in_threads(
      {.topology = Topology::kRing,
       .workers = kWorkers,
       .evaluate_every = 120,
       .target = {.target = 0.5, .consecutive = 1}},  // The weights grow far beyond.
      [&](GlooGroup& group, const live::SessionOptions& session) {
        Distances source;
        const worker::Pace pace{worker::PaceOptions{}};
        PeerOptions options = peer(session.worker, /*updates=*/0, 8);
        options.evaluate_every = 120;
        Ring ring(options, source.initial_weights(), group, source, pace);
        Member member(session, {.manifest = source.manifest(), .dataset_examples = 100}, [&] {
          return ring.weights();
        });
        ring.run(member);
        member.leave();
        const std::lock_guard lock(mutex);
        all.push_back(ring.weights());
      });
  EXPECT_EQ(found.why, "target accuracy reached");
  EXPECT_GE(found.statistics.updates, 10U);
  ASSERT_EQ(all.size(), kWorkers);
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
}

}  // namespace
}  // namespace outpace::collective
