// Rings that sum packed gradients, over Gloo: ranks are threads of this process.

#include <cmath>
#include <map>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "collective/packed_sum.h"
#include "collective/ring.h"
#include "collective/run_test.h"

namespace outpace::collective {
namespace {

constexpr std::uint32_t kPackers = 3;
constexpr std::uint64_t kPackedUpdates = 12;

struct Dies {};
// Computes as Distances does, and dies in the third mini-batch if it is to.
class MayDie final : public worker::GradientSource {
 public:
  explicit MayDie(bool dies) : dies_(dies) {}
  [[nodiscard]] const protocol::Manifest& manifest() const override { return source_.manifest(); }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return 100; }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return source_.initial_weights();
  }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& cancelled) override {
    if (dies_ && ++computed_ == 3) {
      throw Dies();
    }
    return source_.compute(weights, examples, gradient, cancelled);
  }

 private:
  Distances source_;
  const bool dies_;
  int computed_ = 0;
};

struct RingEnd {
  HostResult found;
  std::map<WorkerId, std::vector<float>> weights;
};

RingEnd run_packed(const std::string& spec, std::size_t bucket_bytes, bool one_dies = false) {
  RingEnd ended;
  std::mutex mutex;
  ended.found = run_in_threads(
      {.topology = Topology::kRing,
       .workers = kPackers,
       .batch = 4,
       .limits = {.updates = kPackedUpdates}},
      [&](const GroupOptions& meeting, const live::SessionOptions& session) {
        MayDie source(one_dies && session.worker == WorkerId{1});
        const worker::Pace pace{worker::PaceOptions{}};
        Ring ring({.worker = session.worker,
                   .batches = {.workers = kPackers,
                               .batch = 4,
                               .examples = 100,
                               .updates = kPackedUpdates},
                   .seed = 9,
                   .rule = {.optimizer = Spec::parse("sgd"), .rate = 0.25},
                   .bucket_bytes = bucket_bytes,
                   .compression = compress::Compression::parse(spec)},
                  source.initial_weights(),
                  meeting,
                  source,
                  pace);
        try {
          Member member(session, {.manifest = source.manifest(), .dataset_examples = 100}, [&] {
            return ring.weights();
          });
          ring.run(member);
        } catch (const Dies& /*as wished*/) {
          return;
        }
        const std::lock_guard lock(mutex);
        ended.weights[session.worker] = ring.weights();
      });
  return ended;
}

TEST(PackedRing, AllHaveTheSameWeightsAndThoseOfAPlainRingNearly) {
  const RingEnd plain = run_packed("none", 1U << 20U);
  EXPECT_EQ(plain.found.statistics.traffic.gradients.ratio(), 1.0);
  for (const std::string spec : {"bf16", "int8", "int4"}) {
    for (const std::size_t bucket_bytes : {1U, 12U, 1U << 20U}) {
      SCOPED_TRACE(spec + " by buckets of " + std::to_string(bucket_bytes));
      const RingEnd packed = run_packed(spec, bucket_bytes);
      EXPECT_EQ(packed.found.code, ExitCode::kDone) << packed.found.why;
      EXPECT_EQ(packed.found.statistics.updates, kPackedUpdates);
      ASSERT_EQ(packed.weights.size(), kPackers);
      for (const auto& [worker, weights] : packed.weights) {
        EXPECT_EQ(weights, packed.found.weights);  // To the bit.
      }
      // What is left behind comes with the next update, so that it does not add up.
      EXPECT_NEAR(packed.found.weights[3],
                  plain.found.weights[3],
                  (spec == "int4" ? 0.05F : 0.01F) * plain.found.weights[3]);
      EXPECT_EQ(packed.found.statistics.traffic.weights.bytes, 0U);
    }
  }
}

TEST(PackedRing, GoesOnWithoutAWorkerThatDies) {
  const RingEnd ended = run_packed("int8", 12, /*one_dies=*/true);
  EXPECT_EQ(ended.found.code, ExitCode::kDone) << ended.found.why;
  EXPECT_EQ(ended.found.statistics.updates, kPackedUpdates);
  ASSERT_EQ(ended.weights.size(), kPackers - 1);
  for (const auto& [worker, weights] : ended.weights) {
    EXPECT_EQ(weights, ended.found.weights);
    for (const float weight : weights) {
      EXPECT_NEAR(weight, 48.0F, 8.0F);  // Near the mean of the examples, where it was going.
    }
  }
}

}  // namespace
}  // namespace outpace::collective
