#include "collective/ring.h"

#include <functional>
#include <mutex>

#include <gtest/gtest.h>

#include "collective/run_test.h"
#include "worker/ledger.h"

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
        [&](const GroupOptions& meeting, const live::SessionOptions& session) {
          Distances source;
          const worker::Pace pace{worker::PaceOptions{}};
          Ring ring(peer(session.worker, kUpdates, bucket_bytes),
                    source.initial_weights(),
                    meeting,
                    source,
                    pace);
          Member member(session, {.manifest = source.manifest(), .dataset_examples = 100}, [&] {
            return ring.weights();
          });
          ring.run(member);
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
      [&](const GroupOptions& meeting, const live::SessionOptions& session) {
        Distances source;
        const worker::Pace pace{worker::PaceOptions{}};
        PeerOptions options = peer(session.worker, /*updates=*/0, 8);
        options.evaluate_every = 120;
        Ring ring(options, source.initial_weights(), meeting, source, pace);
        Member member(session, {.manifest = source.manifest(), .dataset_examples = 100}, [&] {
          return ring.weights();
        });
        ring.run(member);
        const std::lock_guard lock(mutex);
        all.push_back(ring.weights());
      });
  EXPECT_EQ(found.why, "target accuracy reached");
  EXPECT_GE(found.statistics.updates, 10U);
  ASSERT_EQ(all.size(), kWorkers);
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
}

// A worker that dies in one of its mini-batches.
struct Died {};
class Mortal final : public worker::GradientSource {
 public:
  // `dies_at`: which mini-batch; 0: never.
  Mortal(worker::GradientSource& source, std::uint64_t dies_at)
      : source_(source), dies_at_(dies_at) {}
  [[nodiscard]] const protocol::Manifest& manifest() const override { return source_.manifest(); }
  [[nodiscard]] std::uint64_t dataset_examples() const override {
    return source_.dataset_examples();
  }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return source_.initial_weights();
  }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& /*cancelled*/) override {
    if (++computed_ == dies_at_) {
      throw Died();
    }
    return source_.compute(weights, examples, gradient, [] { return false; });
  }

 private:
  worker::GradientSource& source_;
  const std::uint64_t dies_at_;
  std::uint64_t computed_ = 0;
};

// How each of the workers dies, by rank, and the weights of those that do not.
struct Survivors {
  HostResult found;
  std::vector<std::vector<float>> weights;
};
template <typename Source>
Survivors survivors_of(HostOptions host,
                       const PeerOptions& shared,
                       const std::vector<std::uint64_t>& dies_at,
                       const std::function<Source()>& make) {
  std::mutex mutex;
  Survivors out;
  host.topology = Topology::kRing;
  host.workers = static_cast<std::uint32_t>(dies_at.size());
  host.batch = shared.batches.batch;
  out.found = run_in_threads(
      std::move(host), [&](const GroupOptions& joining, const live::SessionOptions& session) {
        Source source = make();
        Mortal mortal(source, dies_at.at(index(session.worker)));
        const worker::Pace pace{worker::PaceOptions{}};
        PeerOptions options = shared;
        options.worker = session.worker;
        Ring ring(options, source.initial_weights(), joining, mortal, pace);
        try {
          Member member(
              session,
              {.manifest = source.manifest(), .dataset_examples = source.dataset_examples()},
              [&] { return ring.weights(); });
          ring.run(member);
        } catch (const Died& /*as wished*/) {
          return;
        } catch (const Error& /*too few are left*/) {
          return;
        }
        const std::lock_guard lock(mutex);
        out.weights.push_back(ring.weights());
      });
  return out;
}

// Numbers that float32 holds exactly, as long as two or four workers share an update.
TEST(Ring, AfterADeathUpdatesAreThoseOfTheWorkersThatAreLeftToTheBit) {
  constexpr std::uint64_t kUpdates = 6;
  const Survivors left = survivors_of<Distances>(
      {.limits = {.updates = kUpdates}},
      {.batches = {.workers = 4, .batch = 4, .examples = 100, .updates = kUpdates},
       .seed = kSeed,
       .rule = {.optimizer = Spec::parse("sgd"), .rate = 0.25},
       .bucket_bytes = 8},
      {3, 0, 0, 3},
      [] { return Distances(); });
  // Both die in update 3, or in update 2 if only one that died had that one complete.
  const std::uint64_t applied = left.found.statistics.examples_applied;
  const std::uint64_t whole = (applied - kUpdates * 8) / 8;
  EXPECT_TRUE(whole == 1 || whole == 2) << whole;
  worker::Order order(100, kSeed, /*with_replacement=*/false);
  double weight = 1.0;
  std::uint64_t begin = 0;
  for (std::uint64_t update = 0; update < kUpdates; ++update) {
    const std::uint64_t end = begin + (update < whole ? 16 : 8);
    double mean = 0.0;
    for (const std::uint64_t example : order.examples({{0, begin, end}})) {
      mean += static_cast<double>(example) / static_cast<double>(end - begin);
    }
    weight -= 0.25 * (weight - mean);
    begin = end;
  }
  EXPECT_EQ(left.found.code, ExitCode::kDone) << left.found.why;
  EXPECT_EQ(left.found.statistics.updates, kUpdates);
  EXPECT_EQ(applied, begin);
  ASSERT_EQ(left.weights.size(), 2U);
  for (const std::vector<float>& weights : left.weights) {
    EXPECT_EQ(weights, std::vector<float>(5, static_cast<float>(weight)));
  }
  EXPECT_EQ(left.found.weights, left.weights.front());
}

TEST(Ring, EveryExampleCountsOnceAnEpochThoughWorkersDie) {
  constexpr std::uint64_t kExamples = 500;
  const Survivors left = survivors_of<worker::Ledger>(
      {.limits = {.epochs = 3}, .expects_evaluator = false},
      {.batches = {.workers = 5, .batch = 4, .examples = kExamples, .epochs = 3},
       .seed = kSeed,
       .rule = {.optimizer = Spec::parse("sgd"),
                .rate = 4.0 * 5,
                .rate_scale = update::RateScale::kLinear}},
      {5, 0, 21, 0, 22},
      [] { return worker::Ledger(kExamples); });
  EXPECT_EQ(left.found.code, ExitCode::kDone) << left.found.why;
  EXPECT_EQ(left.found.why, "epochs done");
  EXPECT_EQ(left.found.statistics.examples_applied, 3 * kExamples);
  EXPECT_EQ(left.found.statistics.epochs_complete, 3U);
  ASSERT_EQ(left.weights.size(), 2U);
  EXPECT_EQ(left.weights[0], left.weights[1]);
  for (const float uses : left.weights[0]) {
    EXPECT_NEAR(uses, -3.0F, 1e-4F);  // A third and a fifth are rounded.
  }
}

TEST(Ring, FewerThanAreNeededEndTheRun) {
  const Survivors left = survivors_of<Distances>(
      {.min_workers = 3, .limits = {.updates = 1000}},
      {.batches = {.workers = 3, .batch = 4, .examples = 100, .updates = 1000},
       .rule = {.optimizer = Spec::parse("sgd"), .rate = 0.25}},
      {0, 4, 0},
      [] { return Distances(); });
  EXPECT_EQ(left.found.code, ExitCode::kTooFewWorkers);
  EXPECT_NE(left.found.why.find("2 of 3 left, 3 needed; worker 1 is gone"), std::string::npos)
      << left.found.why;
}

}  // namespace
}  // namespace outpace::collective
