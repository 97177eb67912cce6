#include "throughput/fine.h"

#include <set>

#include <gtest/gtest.h>

#include "links/shapes.h"
#include "sim/transfers.h"
#include "throughput/sampled_timing.h"

namespace outpace::throughput {
namespace {

constexpr std::uint32_t kMiniBatch = 10;

sim::ClusterOptions cluster(const char* policy, std::uint32_t workers, std::uint64_t iterations) {
  sim::ClusterOptions options;
  options.policy = Spec::parse(policy);
  options.coordinator.job = 1;
  options.coordinator.generation = 1;
  options.coordinator.workers = workers;
  options.coordinator.batch = kMiniBatch;
  options.coordinator.examples = 1'000'000;
  options.coordinator.rate = 0.1;
  options.coordinator.limits.iterations = iterations;
  options.shard.optimizer = Spec::parse("sgd");
  return options;
}

SampledTimingOptions fixed_timing(std::vector<double> factors) {
  return {.draw = draw_measured({0.1}, 1),
          .paces = std::vector<worker::Pace>(factors.size(), worker::Pace(worker::PaceOptions{})),
          .factors = std::move(factors)};
}

TEST(Fine, AgreesWithWhatCanBeToldByHand) {
  const SampledTimingOptions all_wait = fixed_timing({1, 1, 4});
  const Served rounds = serve_by_events(cluster("sync", 3, 300), all_wait);
  EXPECT_NEAR(rounds.rate.examples_per_second, 3 * kMiniBatch / 0.4, 1e-6);
  EXPECT_DOUBLE_EQ(rounds.examples_an_update, 3 * kMiniBatch);
  EXPECT_DOUBLE_EQ(rounds.staleness, 0.0);
  const SampledTimingOptions nobody_waits = fixed_timing({1, 1, 4});
  const Served served = serve_by_events(cluster("async", 3, 3000), nobody_waits);
  const Rate free = served.rate;
  EXPECT_DOUBLE_EQ(served.examples_an_update, kMiniBatch);
  // The mean is 2: 1 for each of the two others, and 8 for the slow one.
  EXPECT_NEAR(served.staleness, 4.0, 0.01);
  EXPECT_NEAR(free.examples_per_second, 2.25 * kMiniBatch / 0.1, 0.5);
  EXPECT_LE(free.low, free.examples_per_second);
  EXPECT_GE(free.high, free.examples_per_second);
}

TEST(Fine, GradientsQueueForTheServer) {
  const SampledTimingOptions equal = fixed_timing({1, 1, 1, 1});
  sim::ClusterOptions options = cluster("async", 4, 2000);
  options.apply = std::chrono::milliseconds(50);
  EXPECT_NEAR(serve_by_events(options, equal).rate.examples_per_second, kMiniBatch / 0.05, 0.5);
}

// Two workers on a link that both share: together they need 2 (0.1 + 0.1) s for two gradients; when
// one is sent weights while the other pushes, they need 0.2. In no particular phase it is between.
TEST(Fine, WorkersThatBeginTogetherStayTogether) {
  const sim::Transfers::Options links{
      .topology = links::make_shape(Spec::parse("star"), {.hosts = 3, .bandwidth = 1e6}),
      .payload = 1e5};
  sim::ClusterOptions options = cluster("async", 2, 400);
  options.links = &links;
  SampledTimingOptions timing{.draw = draw_measured({1e-6}, 1),
                              .paces = std::vector<worker::Pace>(2, worker::Pace({})),
                              .factors = {1, 1}};
  const Rate together = serve_by_events(options, timing).rate;
  EXPECT_NEAR(together.examples_per_second, 2 * kMiniBatch / 0.4, 0.5);
  const Served served = serve_by_events(options, timing, {.seconds = 0.4});
  EXPECT_GT(served.rate.examples_per_second, 1.05 * together.examples_per_second);
  EXPECT_LT(served.rate.examples_per_second, 2 * kMiniBatch / 0.2);
  EXPECT_GT(served.rate.high, 2 * kMiniBatch / 0.25);
  EXPECT_DOUBLE_EQ(served.examples_an_update, kMiniBatch);
  EXPECT_NEAR(served.staleness, 1.2, 0.1);  // Mostly 1, and 2 at most now and then.
}

TEST(Fine, BeginningsAreOnceInEachPartOfTheSpread) {
  constexpr std::uint64_t kParts = 8;
  const auto found = beginnings({.seconds = 4.0, .seed = 3}, 3, kParts);
  ASSERT_EQ(found.size(), kParts);
  for (const std::size_t worker : {1U, 2U}) {
    std::set<int> parts;
    for (const std::vector<double>& run : found) {
      EXPECT_EQ(run[0], 0.0);
      parts.insert(static_cast<int>(run[worker] / 0.5));
    }
    EXPECT_EQ(parts, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
  EXPECT_NE(found, beginnings({.seconds = 4.0, .seed = 4}, 3, kParts));
}

TEST(Fine, ARingOverlapsWithTheBackwardPass) {
  // Two buckets, the first there after 0.6 of 0.1 s: 2 x 3 x (0.001 + 0.02 / 4) = 0.036 s each.
  RingOfEvents ring{.computing = draw_measured({0.1}, 1),
                    .factors = {1, 1, 1, 1},
                    .paces = {4, worker::Pace({})},
                    .buckets = {{.ready = 0.6, .seconds = 0.02}, {.ready = 1.0, .seconds = 0.02}},
                    .latency_seconds = 0.001,
                    .fixed_seconds = 0.004,
                    .batch = kMiniBatch};
  EXPECT_NEAR(ring_rate_by_events(ring, 100).examples_per_second, 40 / 0.140, 1e-6);
  ring.buckets[0].seconds = 0.06;  // 0.096 s: to 0.156, and the second to 0.192.
  EXPECT_NEAR(ring_rate_by_events(ring, 100).examples_per_second, 40 / 0.196, 1e-6);
  ring.factors[2] = 3.0;  // Its buckets are there after 0.18 and 0.3 s: to 0.276, 0.336.
  EXPECT_NEAR(ring_rate_by_events(ring, 100).examples_per_second, 40 / 0.340, 1e-6);
}

TEST(Fine, AWorkerOfARingSleepsAsTheTraceSaysAndThenComputes) {
  const auto trace = worker::DelayTrace::parse("0,0.05\n0,0.15\n", "delays.csv", 2);
  const worker::PaceOptions by_iteration{.by = worker::DelaysBy::kIteration};
  const RingOfEvents ring{
      .computing = draw_measured({0.1}, 1),
      .factors = {1, 1},
      .paces = {{trace, WorkerId{0}, by_iteration}, {trace, WorkerId{1}, by_iteration}},
      // Buckets of 0.02 s, 2 x 0.02 / 2 each: the first is through before the second is there.
      .buckets = {{.ready = 0.6, .seconds = 0.02}, {.ready = 1.0, .seconds = 0.02}},
      .latency_seconds = 0.0,
      .fixed_seconds = 0.0,
      .batch = kMiniBatch};
  EXPECT_NEAR(ring_rate_by_events(ring, 96).examples_per_second, 2 * 20 / (0.17 + 0.27), 1e-6);
}

TEST(Fine, IntervalsAreStudents) {
  const Rate rate = of_spans({1, 2, 1, 2, 1, 2, 1, 2});
  EXPECT_DOUBLE_EQ(rate.examples_per_second, 1.5);
  EXPECT_NEAR(rate.high - rate.low, 2 * 2.364624 * 0.188982, 1e-5);
}

}  // namespace
}  // namespace outpace::throughput
