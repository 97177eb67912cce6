#include "throughput/cluster_model.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "throughput/even_profile_test.h"

namespace outpace::throughput {
namespace {

std::string no_file(const std::string& option, const std::string& path) {
  throw usage_error("--" + option + " " + path + ": no file in this test");
}

struct BothRates {
  double fine;
  double coarse;
};

BothRates rates_of(const ClusterKind& kind,
                   std::uint32_t count,
                   const job::ModelledCluster& cluster = {},
                   const job::ReadFile& read_file = no_file) {
  const MeasuredProfile profile = even_profile();
  const ClusterModel model(profile, cluster, read_file);
  const ModelledWorkers workers = model.stepping(model.workers(count), kind.local_steps);
  return {model.fine(kind, workers).rate.examples_per_second,
          model.coarse(model.coarse_cluster(kind, workers), workers).rate.examples_per_second};
}

const ClusterKind kAsync{"async", Topology::kServer, 1};
const ClusterKind kSync{"sync", Topology::kServer, 1};
const ClusterKind kRing{"", Topology::kRing, 0};
const ClusterKind kGossip{"", Topology::kGossip, 0};

TEST(ClusterModel, IsTheProfileWhereNothingIsInTheWay) {
  for (const ClusterKind& kind : {kSync, kAsync}) {
    const BothRates one = rates_of(kind, 1);
    EXPECT_NEAR(one.fine, 8 / 0.02022, 1.0);
    EXPECT_NEAR(one.coarse, 8 / 0.02022, 1.0);
    const BothRates four = rates_of(kind, 4);
    EXPECT_NEAR(four.fine / one.fine, 4.0, 0.02);
    EXPECT_NEAR(four.coarse / one.coarse, 4.0, 0.02);
  }
  for (const ClusterKind& kind : {kRing, kGossip}) {
    const BothRates four = rates_of(kind, 4);
    EXPECT_NEAR(four.fine, 4 * 8 / 0.0205, 60.0);
    EXPECT_NEAR(four.coarse, four.fine, 0.05 * four.fine);
  }
}

// 4 kB take 33.5 ms over 1 Mbit/s with the headers; 16 blocks of int8 are 1,032 bytes, and bf16 are
// 2,000.
TEST(ClusterModel, PackedTransfersTakeTheirBytes) {
  job::ModelledCluster slow{.bandwidth = job::Value<job::Bandwidth>::parse("1Mbps")};
  const double whole = 0.032 * 1514 / 1448;
  const double none = 0.02 + 2 * 1e-4 + 1e-5;
  EXPECT_NEAR(rates_of(kSync, 1, slow).fine, 8 / (none + 2 * whole), 0.01);
  slow.packing = {.gradients = Spec::parse("int8"), .weights = Spec::parse("bf16")};
  for (const ClusterKind& kind : {kSync, kAsync}) {
    const BothRates packed = rates_of(kind, 1, slow);
    EXPECT_NEAR(packed.fine, 8 / (none + (0.258 + 0.5) * whole), 0.05);
    EXPECT_NEAR(packed.coarse, packed.fine, 0.05);
  }
  // At 1 MB/s, 4 ms each for the worker to pack and unpack, and for the server.
  slow.packing.rate = 1e-3;
  EXPECT_NEAR(rates_of(kSync, 1, slow).fine, 8 / (none + 0.758 * whole + 4 * 0.004), 0.05);
  EXPECT_NEAR(rates_of(kAsync, 1, slow).coarse, 8 / (none + 0.758 * whole + 4 * 0.004), 0.05);
  // In a round of two, the weights are packed once.
  EXPECT_NEAR(rates_of(kSync, 2, {.packing = slow.packing}).fine,
              16 / (none + 1e-5 + 2 * 0.004 + 2 * (0.004 + 0.002)),
              1.0);
}

// The same payload without a server, among four workers, and a message of 0.5 ms.
TEST(ClusterModel, PacksWhatWorkersSendEachOther) {
  job::ModelledCluster slow{.bandwidth = job::Value<job::Bandwidth>::parse("1Mbps"),
                            .latency = std::chrono::milliseconds(5)};
  const double whole = 0.032 * 1514 / 1448;
  const double plain_ring = rates_of(kRing, 4, slow).fine;
  const double plain_gossip = rates_of(kGossip, 4, slow).fine;
  slow.packing.gradients = Spec::parse("int8");
  const BothRates ring = rates_of(kRing, 4, slow);
  const BothRates gossip = rates_of(kGossip, 4, slow);
  // 2 (W - 1) / W of the payload, and of six latencies two.
  EXPECT_NEAR(4 * 8 / plain_ring - 4 * 8 / ring.fine, 1.5 * (1 - 0.258) * whole + 4 * 0.005, 1e-4);
  EXPECT_NEAR(ring.coarse, ring.fine, 0.01 * ring.fine);
  EXPECT_GT(gossip.fine, 1.3 * plain_gossip);
  // At 1 MB/s a worker packs 4 kB, and unpacks 7 kB.
  slow.packing.rate = 1e-3;
  const BothRates busy = rates_of(kRing, 4, slow);
  EXPECT_NEAR(4 * 8 / busy.fine - 4 * 8 / ring.fine, 0.004 + 0.007, 1e-4);
  EXPECT_NEAR(busy.coarse, busy.fine, 0.01 * busy.fine);
  EXPECT_LT(rates_of(kGossip, 4, slow).fine, gossip.fine);
  EXPECT_LT(rates_of(kGossip, 4, slow).coarse, gossip.coarse);
}

TEST(ClusterModel, PacksTransfersThatOverlapWithComputing) {
  MeasuredProfile profile = even_profile();
  profile.manifest.tensors = {{.name = "a", .shape = {100'000}}, {.name = "b", .shape = {100'000}}};
  profile.layers = {{.forward_seconds = 0.004, .backward_seconds = 0.006, .tensors = 1},
                    {.forward_seconds = 0.004, .backward_seconds = 0.006, .tensors = 1}};
  job::ModelledCluster slow{.bandwidth = job::Value<job::Bandwidth>::parse("1Gbps")};
  slow.slice.bytes = 65'536;
  const auto rate = [&] {
    const ClusterModel model(profile, slow, no_file);
    return model.fine(kAsync, model.workers(1)).rate.examples_per_second;
  };
  const double whole = rate();
  slow.packing = {.gradients = Spec::parse("int8"), .weights = Spec::parse("bf16"), .rate = 1e3};
  // All that can be waited for is less than what is sent: 800 kB each way in 6.7 ms.
  EXPECT_GT(rate(), whole);
  EXPECT_LT(rate(), 8 / 0.02);
}

TEST(ClusterModel, SharesTheServersLink) {
  // 4 kB each way over 1 Mbit/s are 33 ms with the headers, for each of four workers.
  const job::ModelledCluster slow{.bandwidth = job::Value<job::Bandwidth>::parse("1Mbps")};
  EXPECT_LT(rates_of(kAsync, 4, slow).fine, 8 / 0.0334);
  EXPECT_LT(rates_of(kAsync, 4, slow).coarse, 8 / 0.0334);
  const MeasuredProfile profile = even_profile();
  const ClusterModel model(profile, slow, no_file);
  const ModelledWorkers workers = model.workers(4);
  EXPECT_EQ(find_bottleneck(model.coarse_cluster(kAsync, workers), workers.computing),
            Bottleneck::kLink);
}

TEST(ClusterModel, LocalStepsShareOnePush) {
  // Each step but the first adds 20 ms to what a push of whole transfers takes.
  job::ModelledCluster slow{.bandwidth = job::Value<job::Bandwidth>::parse("1Mbps")};
  slow.slice.bytes = 0;
  const BothRates pushed = rates_of(kSync, 2, slow);
  for (const std::uint32_t steps : {1U, 10U, 100U}) {
    ClusterKind kind = kSync;
    kind.local_steps = steps;
    const BothRates rates = rates_of(kind, 2, slow);
    const auto seconds = [&](double rate) { return 16 * steps / rate; };
    EXPECT_NEAR(seconds(rates.fine), 16 / pushed.fine + 0.020 * (steps - 1), 1e-3 * steps);
    EXPECT_NEAR(seconds(rates.coarse), 16 / pushed.coarse + 0.020 * (steps - 1), 1e-3 * steps);
  }
}

TEST(ClusterModel, PartsThatAreHandedInCount) {
  job::ModelledCluster unequal;
  unequal.delays.slow = {"worker=3,factor=4"};
  const MeasuredProfile profile = even_profile();
  const ClusterModel model(profile, unequal, no_file);
  const ClusterKind kind{"backup:cutoff=3", Topology::kServer, 1, 20};
  const ModelledWorkers workers = model.stepping(model.workers(4), 20);
  // The slow one is at its sixth step when the others have made their twenty, and makes it.
  EXPECT_NEAR(model.fine(kind, workers).rate.examples_per_second, (60 + 6) * 8 / 0.48, 12);
  EXPECT_FALSE(is_modelled(model.coarse_cluster(kind, workers)));
  const ClusterKind all{"sync", Topology::kServer, 1, 20};
  EXPECT_TRUE(is_modelled(model.coarse_cluster(all, workers)));
}

TEST(ClusterModel, WorkersOnALinkComeOutOfPhase) {
  // Two workers in phase would share the link both ways: 20 + 4 x 33.5 ms. One that begins behind
  // the other stays behind, until one pushes while the other receives: 20 + 2 x 33.5 ms.
  const job::ModelledCluster slow{.bandwidth = job::Value<job::Bandwidth>::parse("1Mbps"),
                                  .iterations = 100};
  const double alone = 4000.0 / (125000.0 * 1448 / 1514);
  const double apart = 2 * 8 / (0.02 + 2 * alone);
  EXPECT_NEAR(rates_of(kAsync, 2, slow).fine, apart, 0.03 * apart);
}

TEST(ClusterModel, TakesARuntimeInPlaceOfTheProfilesComputing) {
  const job::ModelledCluster drawn{.runtime = "constant(100ms)"};
  for (const ClusterKind& kind : {kAsync, kRing}) {
    EXPECT_NEAR(rates_of(kind, 4, drawn).fine, 4 * 8 / 0.1, 5.0);
    EXPECT_NEAR(rates_of(kind, 4, drawn).coarse, 4 * 8 / 0.1, 5.0);
  }
  EXPECT_NE(refusal_of([] {
              (void)rates_of(kAsync, 4, {.runtime = "weibull(mean=1s)"});
            }).find("unknown runtime 'weibull'"),
            std::string::npos);
}

TEST(ClusterModel, AddsDelaysToTheComputing) {
  const job::ModelledCluster delayed{.delays = {.file = "d.csv"}};
  const auto read = [](const std::string& option, const std::string& path) {
    EXPECT_EQ(option, "delays");
    EXPECT_EQ(path, "d.csv");
    return std::string("0,0.08\n");
  };
  for (const ClusterKind& kind : {kSync, kRing}) {
    EXPECT_NEAR(rates_of(kind, 2, delayed, read).fine, 2 * 8 / 0.1, 1.0);
    EXPECT_NEAR(rates_of(kind, 2, delayed, read).coarse, 2 * 8 / 0.1, 1.0);
  }
}

TEST(ClusterModel, SlowsWorkersDown) {
  const job::ModelledCluster slowed{.delays = {.slow = {"worker=1,factor=4"}}};
  EXPECT_NEAR(rates_of(kSync, 2, slowed).fine, 2 * 8 / 0.0802, 1.0);
  EXPECT_NEAR(rates_of(kAsync, 2, slowed).coarse, 8 / 0.02022 + 8 / 0.08022, 2.0);
}

TEST(ClusterModel, SimulatesABoundUntilItBinds) {
  // A worker that is 10 % slower is three iterations behind after thirty.
  const job::ModelledCluster slowed{.delays = {.slow = {"worker=3,factor=1.1"}}};
  const ClusterKind bound{"ssp:s=3", Topology::kServer, 1};
  EXPECT_NEAR(rates_of(bound, 4, slowed).fine, 4 * 8 / 0.0222, 5.0);
  EXPECT_NEAR(rates_of(bound, 4, slowed).coarse, 4 * 8 / 0.0222, 5.0);
}

TEST(ClusterModel, CountsTheExamplesThatAnUpdateMixes) {
  const MeasuredProfile profile = even_profile();
  const job::ModelledCluster cluster;
  const ClusterModel model(profile, cluster, no_file);
  const ModelledWorkers workers = model.workers(4);
  for (const ClusterKind& kind : {kSync, kAsync, kRing, kGossip}) {
    EXPECT_NEAR(model.fine(kind, workers).mixed_examples, 32.0, 1.0) << kind.policy;
    EXPECT_NEAR(
        model.coarse(model.coarse_cluster(kind, workers), workers).mixed_examples, 32.0, 1e-9)
        << kind.policy;
  }
  EXPECT_NEAR(model.computing_alone(workers), 4 * 8 / 0.02, 1e-6);
}

TEST(ClusterModel, CountsTheMostStaleGradientsOfUnequalWorkersToo) {
  const MeasuredProfile profile = even_profile();
  const job::ModelledCluster cluster{.runtime = "3*constant(100ms),1*constant(1s)"};
  const ClusterModel model(profile, cluster, no_file);
  const ModelledWorkers workers = model.workers(4);
  // In a second the fast ones make 30 updates; the mean staleness is 3, whatever the speeds.
  const double mixed = 8 * (1.0 + std::sqrt(30.0 * 3.0));
  EXPECT_NEAR(
      model.coarse(model.coarse_cluster(kAsync, workers), workers).mixed_examples, mixed, 1e-6);
  EXPECT_NEAR(model.fine(kAsync, workers).mixed_examples, mixed, 0.05 * mixed);
}

// Four layers of 10 ms forward and 20 ms backward; 40 MB of weights are all in one of them.
MeasuredProfile heavy_layer(std::size_t heavy) {
  MeasuredProfile profile = even_profile();
  profile.batch = 32;
  profile.iterations.assign(10, {.compute_seconds = 0.12, .rest_seconds = 0.0});
  profile.manifest.tensors.assign(4, {.name = "w", .shape = {1}});
  profile.manifest.tensors[heavy].shape = {10'000'000};
  profile.layers.assign(4, {0.01, 0.02});
  profile.apply_seconds = profile.message_seconds = profile.byte_seconds = 0.0;
  return profile;
}

TEST(ClusterModel, JoinsTheTimesOfLayersWithTheirTensors) {
  // 10 Gbit/s carry 40 MB in 40e6 / (1.25e9 x 1448 / 1514) s = 33.46 ms.
  constexpr double kAlone = 40e6 / (1.25e9 * 1448 / 1514);
  constexpr double kExamples = 4 * 32;
  const job::ModelledCluster fast{.bandwidth = job::Value<job::Bandwidth>::parse("10Gbps")};
  const auto fine = [&fast](const MeasuredProfile& profile, const ClusterKind& kind) {
    const ClusterModel model(profile, fast, no_file);
    return model.fine(kind, model.workers(4)).rate.examples_per_second;
  };
  // A ring sends 2 x 3/4 of 33.46 ms = 50.19 ms. The first layer's gradient is there at the end:
  // 120 + 50.19 = 170.19 ms, 752 examples/s. The last layer's is there after 40 + 20 ms, and its
  // sum ends at 110.19 ms, before the backward pass does: 120 ms, 1,067 examples/s.
  EXPECT_NEAR(fine(heavy_layer(0), kRing), kExamples / (0.120 + 1.5 * kAlone), 0.1);
  EXPECT_NEAR(fine(heavy_layer(3), kRing), kExamples / 0.120, 0.1);
  // With a server, four workers share its link: 133.84 ms down and 133.84 ms up. The first layer's
  // weights are needed at first, and its gradient is there at last: 133.84 + 120 + 133.84 = 387.67
  // ms, 330 examples/s. While the last layer's weights come, the forward pass goes through the
  // first three layers; while its gradient goes, the backward pass does: 133.84 + 30 + 133.84 =
  // 297.67 ms, 430 examples/s.
  EXPECT_NEAR(fine(heavy_layer(0), kSync), kExamples / (8 * kAlone + 0.120), 0.1);
  EXPECT_NEAR(fine(heavy_layer(3), kSync), kExamples / (8 * kAlone + 0.030), 0.1);
  // Sent whole, the two are alike.
  job::ModelledCluster whole = fast;
  whole.slice.bytes = 0;
  for (const std::size_t heavy : {0U, 3U}) {
    const MeasuredProfile profile = heavy_layer(heavy);
    const ClusterModel model(profile, whole, no_file);
    EXPECT_NEAR(model.fine(kSync, model.workers(4)).rate.examples_per_second,
                kExamples / (8 * kAlone + 0.120),
                0.1);
  }
}

TEST(ClusterModel, LayersMatterInTheCoarseModelOfARingToo) {
  const job::ModelledCluster fast{.bandwidth = job::Value<job::Bandwidth>::parse("10Gbps")};
  for (const std::size_t heavy : {0U, 3U}) {
    const MeasuredProfile profile = heavy_layer(heavy);
    const ClusterModel model(profile, fast, no_file);
    const ModelledWorkers workers = model.workers(4);
    EXPECT_NEAR(
        model.coarse(model.coarse_cluster(kRing, workers), workers).rate.examples_per_second,
        model.fine(kRing, workers).rate.examples_per_second,
        0.1);
  }
}

TEST(ClusterModel, SimulatesUntilTheIntervalIsNarrow) {
  const job::ModelledCluster drawn{.runtime = "lognormal(mean=100ms,cv=1)"};
  const MeasuredProfile profile = even_profile();
  const ClusterModel model(profile, drawn, no_file);
  const ModelledWorkers workers = model.workers(4);
  job::ModelledCluster short_run = drawn;
  short_run.iterations = 200;
  const ClusterModel fixed(profile, short_run, no_file);
  for (const char* policy : {"sync", "ssp:s=1", "kasync:k=3"}) {
    const ClusterKind kind{policy, Topology::kServer, 1};
    const auto width = [](const Rate& rate) {
      return (rate.high - rate.low) / rate.examples_per_second;
    };
    EXPECT_LT(width(model.fine(kind, workers).rate), 0.05) << policy;
    EXPECT_GT(width(fixed.fine(kind, workers).rate), 0.05) << policy;
  }
}

TEST(ClusterModel, TheCoarseModelKnowsTheBarrierOfEachPolicy) {
  for (const char* runtime : {"exponential(mean=100ms)",
                              "2*constant(100ms),2*constant(300ms)",
                              "3*constant(100ms),1*constant(1s)"}) {
    const job::ModelledCluster drawn{.runtime = runtime};
    for (const char* policy : {"kasync:k=2",
                               "kbatchasync:k=2",
                               "kbatchsync:k=4",
                               "adasync:k=2",
                               "ssp:s=1",
                               "dssp:low=1,high=3",
                               "psp:beta=1",
                               "saps",
                               "saps:s=3,action=refresh"}) {
      const BothRates rates = rates_of({policy, Topology::kServer, 1}, 4, drawn);
      EXPECT_NEAR(rates.coarse / rates.fine, 1.0, 0.07) << policy << " " << runtime;
    }
  }
}

TEST(ClusterModel, SaysThatWorkersOfAFreeGossipHardlyMeet) {
  const MeasuredProfile profile = even_profile();
  job::ModelledCluster cluster{.bandwidth = job::Value<job::Bandwidth>::parse("1Mbps"),
                               .gossip = {.averaging = job::Averaging::kFree}};
  // 2 x 0.1 + 33.5 ms a meeting, 20 ms a gradient.
  EXPECT_NE(ClusterModel(profile, cluster, no_file)
                .caveat_of_gossip()
                .find("a meeting takes 0.034 s and a gradient 0.02 s, so a worker meets another at "
                      "most once in 2 gradients"),
            std::string::npos);
  cluster.gossip = {.averaging = job::Averaging::kElastic, .average_every = 2};
  EXPECT_NE(ClusterModel(profile, cluster, no_file)
                .caveat_of_gossip()
                .find("meeting with it takes 0.067 s, and a gradient 0.02 s"),
            std::string::npos);
  cluster.gossip.averaging = job::Averaging::kCoupled;
  EXPECT_EQ(ClusterModel(profile, cluster, no_file).caveat_of_gossip(), "");
  cluster = {.gossip = {.averaging = job::Averaging::kFree}};
  EXPECT_EQ(ClusterModel(profile, cluster, no_file).caveat_of_gossip(), "");
}

TEST(ClusterModel, RefusesAPolicyThatTakesMoreWorkers) {
  EXPECT_NE(refusal_of([] {
              (void)rates_of({"backup:cutoff=6", Topology::kServer, 1}, 2);
            }).find("cutoff is '6'"),
            std::string::npos);
}

}  // namespace
}  // namespace outpace::throughput
