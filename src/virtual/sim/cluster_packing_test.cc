// Runs of a cluster that packs what travels.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compress/pack.h"
#include "links/shapes.h"
#include "sim/cluster.h"

namespace outpace::sim {
namespace {

using compress::WeightsKind;
using std::chrono::milliseconds;

constexpr std::size_t kSlopeNumbers = 150;
constexpr float kSlopeRate = 0.5F;

using Slopes = std::vector<float>;

// The slope of half the squared distance to numbers of all sizes, less what the examples add.
void slope(std::span<const float> weights, float first_example, std::span<float> gradient) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = weights[i] - std::sin(static_cast<float>(i)) - 0.01F * first_example;
  }
}

class Slope final : public worker::GradientSource {
 public:
  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return 64; }
  [[nodiscard]] Slopes initial_weights() const override { return Slopes(kSlopeNumbers, 1.0F); }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& /*cancelled*/) override {
    first.push_back(static_cast<float>(examples.front()));
    slope(weights, first.back(), gradient);
    return 0.0;
  }

  Slopes first;  // The first example of each mini-batch.

 private:
  protocol::Manifest manifest_{.tensors = {{.name = "w", .shape = {kSlopeNumbers}}}};
};

struct PackedJob {
  std::string compress = "none";
  WeightsKind weights = WeightsKind::kNone;
  std::string policy = "async";
  std::uint32_t workers = 1;
  std::uint64_t updates = 20;
  Duration latency{};
  double rate = kSlopeRate;
  std::vector<std::string> faults{};
  const Transfers::Options* links = nullptr;
};

ClusterOptions packed_options(const PackedJob& job) {
  ClusterOptions options{
      .policy = Spec::parse(job.policy),
      .coordinator = {.workers = job.workers,
                      .batch = 4,
                      .examples = 64,
                      .limits = {.updates = job.updates},
                      .rate = job.rate},
      .shard = {.optimizer = Spec::parse("sgd")},
      .target = {},
      .latency = job.latency,
      .packing = {.gradients = compress::Compression::parse(job.compress), .weights = job.weights},
      .links = job.links};
  for (const std::string& fault : job.faults) {
    options.faults.push_back(parse_fault(fault, job.workers));
  }
  return options;
}

ClusterResult run_packed(const PackedJob& job, worker::GradientSource* source) {
  DrawnTiming timing(Runtimes::parse("lognormal(mean=100ms,cv=0.5)",
                                     {.workers = job.workers, .seed = 1, .read_file = {}}),
                     {});
  std::optional<Learning> learning;
  if (source != nullptr) {
    learning.emplace(Learning{*source});
  }
  return Cluster(packed_options(job), timing, learning ? &*learning : nullptr, nullptr, nullptr)
      .run();
}

ClusterResult learn_packed(const PackedJob& job) {
  Slope source;
  return run_packed(job, &source);
}

// One worker and its server by hand: the weights after the updates, and the bytes that went over.
struct PackedByHand {
  Slopes weights = Slopes(kSlopeNumbers, 1.0F);
  std::uint64_t pushed = 0;
  std::uint64_t pulled = 0;

  PackedByHand(const PackedJob& job, const Slopes& first_examples) {
    const auto compression = compress::Compression::parse(job.compress);
    compress::Feedback feedback(compression, kSlopeNumbers);
    Slopes has;
    for (std::uint64_t update = 0; update < job.updates; ++update) {
      Slopes now(kSlopeNumbers);
      const auto sent = compress::pack_weights(job.weights, has, weights, now);
      Slopes seen(kSlopeNumbers);
      compress::unpack_weights(job.weights, sent, has, seen);
      has = seen;
      Slopes gradient(kSlopeNumbers);
      slope(seen, first_examples[update], gradient);
      std::vector<std::byte> packed(compress::packed_bytes(compression.format, kSlopeNumbers));
      feedback.pack(0, gradient, packed);
      compress::unpack(compression.format, packed, gradient);
      feedback.accepted();
      for (std::size_t i = 0; i < kSlopeNumbers; ++i) {
        weights[i] -= kSlopeRate * gradient[i];
      }
      pulled += sent.size();
      pushed += packed.size();
    }
  }
};

TEST(ClusterPacking, IsThatOfALoopMadeByHand) {
  for (const char* const compress :
       {"none", "bf16", "fp16", "int8", "int4", "topk:share=0.1,bits=2", "int4:feedback=0.5"}) {
    for (const WeightsKind weights :
         {WeightsKind::kNone, WeightsKind::kBf16, WeightsKind::kInt8, WeightsKind::kDelta}) {
      for (const Duration latency : {Duration{}, Duration(milliseconds(3))}) {
        const PackedJob job{.compress = compress, .weights = weights, .latency = latency};
        Slope source;
        const ClusterResult found = run_packed(job, &source);
        const PackedByHand expected(job, source.first);
        EXPECT_EQ(found.weights, expected.weights)
            << compress << ", weights as " << name(weights) << ", latency " << latency.count();
        EXPECT_EQ(found.statistics.traffic.gradients,
                  (protocol::Carried{20, 20 * kSlopeNumbers, expected.pushed}));
        // The last release is not answered.
        EXPECT_GE(found.statistics.traffic.weights.bytes, expected.pulled);
      }
    }
  }
}

TEST(ClusterPacking, ChangesNoTimeWithoutLinks) {
  const PackedJob plain{.workers = 4};
  const PackedJob packed{
      .compress = "topk:share=0.1,bits=2", .weights = WeightsKind::kInt8, .workers = 4};
  EXPECT_EQ(learn_packed(packed).hash, learn_packed(plain).hash);
  EXPECT_NE(learn_packed(packed).weights, learn_packed(plain).weights);
}

TEST(ClusterPacking, SharesWhatWorkersInStepAreSent) {
  const PackedJob job{
      .compress = "int8", .weights = WeightsKind::kDelta, .policy = "sync", .workers = 3};
  const ClusterResult found = learn_packed(job);
  EXPECT_EQ(found.code, ExitCode::kDone);
  EXPECT_EQ(found.statistics.traffic.gradients.payloads, 60U);
  EXPECT_LT(found.statistics.traffic.weights.ratio(), 4.0);
  EXPECT_GT(found.statistics.traffic.weights.ratio(), 1.5);
}

// Verdicts come late, twice or not at all, and workers and servers come again: the weights come to
// where they should, which they would not if what is left behind were lost or counted twice.
TEST(ClusterPacking, OutlivesFaults) {
  for (const char* const compress : {"int8", "topk:share=0.1,bits=4"}) {
    for (const char* const policy : {"async", "backup:cutoff=3", "ssp:s=2", "softsync:n=2"}) {
      PackedJob job{.compress = compress,
                    .weights = WeightsKind::kInt8,
                    .policy = policy,
                    .workers = 4,
                    .updates = 1000,
                    .latency = milliseconds(20),
                    .rate = 0.01,
                    .faults = {"crash:worker=2,at=2s,for=1s",
                               "server:at=4s,for=1s",
                               "lose:at=1s,for=5s,probability=0.05",
                               "reorder:at=1s,for=5s,probability=0.3,by=300ms",
                               "duplicate:at=1s,for=5s,probability=0.3,by=300ms"}};
      const ClusterResult found = learn_packed(job);
      EXPECT_EQ(found.code, ExitCode::kDone) << compress << ", " << policy;
      EXPECT_EQ(learn_packed(job).weights, found.weights) << compress << ", " << policy;
      for (std::size_t i = 0; i < kSlopeNumbers; ++i) {
        EXPECT_NEAR(found.weights[i], std::sin(static_cast<float>(i)) + 0.3F, 0.15F)
            << compress << ", " << policy << ", number " << i;
      }
    }
  }
}

// A payload of 100 kB over a link of 1 MB/s, both ways, of one worker.
TEST(ClusterPacking, TakesItsBytesOverLinks) {
  const Transfers::Options links{
      .topology = links::make_shape(Spec::parse("star"), {.hosts = 2, .bandwidth = 1e6}),
      .payload = 1e5};
  const auto seconds = [&](const char* compress, WeightsKind weights) {
    ClusterOptions options =
        packed_options({.compress = compress, .weights = weights, .updates = 10, .links = &links});
    DrawnTiming timing(
        Runtimes::parse("constant(mean=100ms)", {.workers = 1, .seed = 1, .read_file = {}}), {});
    return to_seconds(
        Cluster(options, timing, nullptr, nullptr, nullptr).run().statistics.last_commit);
  };
  constexpr double kBlocks = 391;  // 64 numbers each, with two bytes of scale.
  const double whole = 0.1;
  const double half = 0.05;
  const double eight = (25'000 + 2 * kBlocks) / 1e6;
  const double changed = (50'000 + 7 * 2 + 3'125) / 1e6;  // Seven chunks, and a bit each.
  constexpr double kRounding = 1e-6;
  EXPECT_NEAR(seconds("none", WeightsKind::kNone), 10 * (0.1 + 2 * whole), kRounding);
  EXPECT_NEAR(seconds("bf16", WeightsKind::kNone), 10 * (0.1 + half + whole), kRounding);
  EXPECT_NEAR(seconds("int8", WeightsKind::kBf16), 10 * (0.1 + eight + half), kRounding);
  // The first weights of a connection are all of them.
  EXPECT_NEAR(
      seconds("none", WeightsKind::kInt8), 10 * (0.1 + whole) + whole + 9 * eight, kRounding);
  EXPECT_NEAR(
      seconds("none", WeightsKind::kDelta), 10 * (0.1 + whole) + half + 9 * changed, kRounding);
}

// With real weights their deltas have their real sizes: fewer bytes than if all had changed.
TEST(ClusterPacking, SendsDeltasOfTheirRealSizes) {
  const Transfers::Options links{
      .topology = links::make_shape(Spec::parse("star"), {.hosts = 2, .bandwidth = 1e3}),
      .payload = sizeof(float) * kSlopeNumbers};
  const PackedJob job{.weights = WeightsKind::kDelta, .updates = 40, .links = &links};
  const ClusterResult real = learn_packed(job);
  const ClusterResult assumed = run_packed(job, nullptr);
  EXPECT_LT(real.statistics.last_commit, assumed.statistics.last_commit);
  EXPECT_LT(real.statistics.traffic.weights.bytes, assumed.statistics.traffic.weights.bytes);
}

}  // namespace
}  // namespace outpace::sim
