#include "throughput/coarse_cluster.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

MeasuredProfile profile() {
  MeasuredProfile profile;
  profile.batch = 10;
  profile.manifest.tensors = {{.name = "w", .shape = {250'000}}};  // 1 MB.
  profile.layers = {{0.01, 0.02}, {0.03, 0.04}};
  profile.apply_seconds = 0.001;
  profile.message_seconds = 0.0002;
  profile.byte_seconds = 1e-9;
  return profile;
}

constexpr Wires kGigabit{.bytes_per_second = 125e6, .latency_seconds = 0.0001};

Computing computing(std::vector<double> seconds) {
  return draw_computing(
      1,
      1,
      static_cast<std::uint32_t>(seconds.size()),
      [&](std::size_t /*p*/, std::size_t /*d*/, std::uint32_t w) { return seconds[w]; });
}

TEST(CoarseCluster, CostsComeFromTheProfileAndTheWires) {
  const ServedCluster costs = served_costs(profile(), kGigabit, 2);
  EXPECT_NEAR(costs.fixed_seconds, 2 * 0.0003, 1e-12);
  EXPECT_NEAR(costs.own_link_seconds, 0.008 * 1514 / 1448, 1e-9);
  EXPECT_NEAR(costs.link_seconds, 0.004 * 1514 / 1448, 1e-9);
  EXPECT_NEAR(costs.apply_seconds, 0.0005, 1e-12);
  EXPECT_EQ(served_costs(profile(), {}, 1).link_seconds, 0.0);
  const RingCluster ring = ring_costs(profile(), kGigabit);
  EXPECT_NEAR(ring.latency_seconds, 0.0003, 1e-12);
  MeasuredProfile with_sums = profile();
  with_sums.sums = {.message_seconds = 0.0005, .byte_seconds = 1e-8};
  EXPECT_NEAR(ring_costs(with_sums, kGigabit).latency_seconds, 0.0006, 1e-12);
  EXPECT_NEAR(ring_costs(with_sums, kGigabit).meeting_message_seconds, 0.0006, 1e-12);
  with_sums.sums->meeting_message_seconds = 0.001;
  EXPECT_NEAR(ring_costs(with_sums, kGigabit).meeting_message_seconds, 0.0011, 1e-12);
  EXPECT_NEAR(ring.payload_seconds, 0.008 * 1514 / 1448, 1e-9);
  EXPECT_NEAR(ring_costs(with_sums, kGigabit).payload_seconds, 0.01, 1e-12);
  EXPECT_EQ(backward_share(profile()), 0.0);  // There is one bucket.
  ASSERT_EQ(ring.buckets.size(), 1U);
  EXPECT_EQ(ring.buckets.front().ready, 1.0);
  MeasuredProfile large = profile();
  large.manifest.tensors = {{.name = "w", .shape = {2'500'000}}};
  EXPECT_NEAR(backward_share(large), 0.2, 1e-12);  // 0.02 of 0.1.
}

// A quarter of a megabyte goes up and half comes down; 8 ms over the link, with its headers.
TEST(CoarseCluster, PackingSavesBytesAndCostsTime) {
  const PackingCosts packing{.gradient_share = 0.25,
                             .weights_share = 0.5,
                             .worker_seconds = 0.003,
                             .gradient_seconds = 0.002,
                             .weights_seconds = 0.004};
  const ServedCluster costs = served_costs(profile(), kGigabit, 1, packing);
  EXPECT_NEAR(costs.up_seconds(), 0.002 * 1514 / 1448, 1e-9);
  EXPECT_NEAR(costs.down_seconds(), 0.004 * 1514 / 1448, 1e-9);
  EXPECT_NEAR(costs.fixed_seconds, 2 * 0.0003 + 0.003, 1e-12);
  EXPECT_NEAR(costs.apply_seconds, 0.001 + 0.002 + 0.004, 1e-12);
  // Without links, 1 ns a byte, of 0.375 MB each way.
  EXPECT_NEAR(copying_seconds(profile(), {}, packing), 0.000375, 1e-12);
  // A round of two: the weights, 0.1 s, and the gradients one after another.
  const CoarseCluster cluster{.topology = Topology::kServer,
                              .barrier = {BarrierKind::kCutoff, 2},
                              .served = costs,
                              .ring = {}};
  const double seconds = costs.fixed_seconds + 2 * costs.down_seconds() + 0.1 +
                         2 * (costs.up_seconds() + costs.apply_seconds);
  EXPECT_NEAR(coarse_rate(cluster, computing({0.1, 0.1}), Heuristics::kWithout), 2 / seconds, 1e-9);
  // Nobody waits: one worker's iteration.
  const CoarseCluster free{
      .topology = Topology::kServer, .barrier = {BarrierKind::kNone}, .served = costs, .ring = {}};
  EXPECT_NEAR(coarse_rate(free, computing({0.1}), Heuristics::kWithout),
              1 / (costs.fixed_seconds + costs.down_seconds() + 0.1 + costs.up_seconds() +
                   costs.apply_seconds),
              1e-9);
}

TEST(CoarseCluster, CopyingCountsAsFarAsItIsSlowerThanTheLink) {
  EXPECT_NEAR(copying_seconds(profile(), {}), 0.001, 1e-12);
  EXPECT_EQ(copying_seconds(profile(), kGigabit), 0.0);
  constexpr Wires kFast{.bytes_per_second = 1514 / 1448.0 * 2e9};
  EXPECT_NEAR(copying_seconds(profile(), kFast), 0.0005, 1e-12);
  const ServedCluster costs = served_costs(profile(), kFast, 1);
  EXPECT_NEAR(costs.fixed_seconds, 0.0004 + 0.0005, 1e-12);
  EXPECT_NEAR(costs.apply_seconds, 0.001 + 0.0005, 1e-12);
}

TEST(CoarseCluster, NamesWhatWouldHelpMost) {
  CoarseCluster cluster{.topology = Topology::kServer,
                        .barrier = {BarrierKind::kCutoff, 4},
                        .served = served_costs(profile(), kGigabit, 1),
                        .ring = ring_costs(profile(), kGigabit)};
  EXPECT_EQ(find_bottleneck(cluster, computing({1, 1, 1, 1})), Bottleneck::kComputing);
  EXPECT_EQ(find_bottleneck(cluster, computing({0.01, 0.01, 0.01, 0.01})), Bottleneck::kLink);
  EXPECT_EQ(find_bottleneck(cluster, computing({1, 1, 1, 10})), Bottleneck::kStragglers);
  // A link is far away, too, not only narrow.
  cluster.served = served_costs(profile(), {.latency_seconds = 10.0}, 1);
  EXPECT_EQ(find_bottleneck(cluster, computing({1, 1, 1, 1})), Bottleneck::kLink);
  cluster.barrier = {BarrierKind::kNone};
  EXPECT_EQ(find_bottleneck(cluster, computing({1, 1, 1, 1})), Bottleneck::kLink);
  cluster.barrier = {BarrierKind::kCutoff, 4};
  cluster.served = served_costs(profile(), kGigabit, 1);
  cluster.served.apply_seconds = 1.0;
  EXPECT_EQ(find_bottleneck(cluster, computing({0.01, 0.01, 0.01, 0.01})), Bottleneck::kApply);
  cluster.barrier = barrier_of(Spec::parse("switch(sync until updates>9 then async)"), 4);
  EXPECT_EQ(find_bottleneck(cluster, computing({1, 1, 1, 1})), Bottleneck::kNotModelled);
  cluster.topology = Topology::kRing;
  EXPECT_EQ(find_bottleneck(cluster, computing({0.001, 0.001, 0.001, 0.001})), Bottleneck::kLink);
  EXPECT_EQ(name(Bottleneck::kLink, Topology::kRing), "link");
  EXPECT_EQ(name(Bottleneck::kLink, Topology::kServer), "server link");
}

TEST(CoarseCluster, AShortProfileIsUncertain) {
  EXPECT_EQ(profile_uncertainty({0.5, 0.5, 0.5}), 0.0);
  // A variance of 4 x 0.03^2 / 3, a standard error of 0.03 / sqrt(3).
  EXPECT_NEAR(profile_uncertainty({0.07, 0.13, 0.07, 0.13}), 2 * 0.0173205 / 0.1, 1e-5);
}

}  // namespace
}  // namespace outpace::throughput
