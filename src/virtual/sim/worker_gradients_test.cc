#include "sim/worker_gradients.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace outpace::sim {
namespace {

constexpr std::uint64_t kExamples = 8;

// A gradient of ones, and a loss that the test sets. It notes the examples that it is asked for.
class Ones final : public worker::GradientSource {
 public:
  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return kExamples; }
  [[nodiscard]] std::vector<float> initial_weights() const override { return {0.0F, 0.0F}; }
  void begin_epoch(std::uint64_t epoch) override { epochs.push_back(epoch); }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& /*cancelled*/) override {
    used.insert(examples.begin(), examples.end());
    seen.push_back(weights.front());
    std::ranges::fill(gradient, 1.0F);
    return loss;
  }

  double loss = 3.0;
  std::multiset<std::uint64_t> used;
  std::vector<float> seen;  // The first weight, each time.
  std::vector<std::uint64_t> epochs;

 private:
  protocol::Manifest manifest_{.tensors = {{.name = "w", .shape = {2}}}};
};

using Numbers = std::vector<float>;

const Numbers kWeights{10.0F, 20.0F};

protocol::Release release_of(std::uint64_t begin, std::uint64_t end) {
  return {.nominal = 2, .ranges = {{.epoch = 1, .begin = begin, .end = end}}, .inner_rate = 0.5};
}

server::CoordinatorOptions options_of(std::optional<server::LocalSteps> local = {}) {
  return {.workers = 2, .batch = 2, .local_steps = std::move(local), .examples = kExamples};
}

TEST(WorkerGradients, UseTheFirstExamplesOfARelease) {
  Ones source;
  const server::CoordinatorOptions options = options_of();
  WorkerGradients gradients(source, options, {});
  const auto made = gradients.make(WorkerId{0}, release_of(0, 5), 3, kWeights);
  EXPECT_EQ(made.gradient, (Numbers{1.0F, 1.0F}));
  EXPECT_EQ(made.loss, 3.0);
  EXPECT_EQ(source.used.size(), 3U);
  (void)gradients.make(WorkerId{1}, release_of(3, 8), 5, kWeights);
  EXPECT_EQ(source.used, (std::multiset<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(source.seen, (Numbers{10.0F, 10.0F}));
  EXPECT_EQ(source.epochs, (std::vector<std::uint64_t>{1, 1}));
}

TEST(WorkerGradients, AreNotFiniteIfTheLossIsNot) {
  Ones source;
  source.loss = INFINITY;
  const server::CoordinatorOptions options = options_of();
  WorkerGradients gradients(source, options, {});
  const auto made = gradients.make(WorkerId{0}, release_of(0, 2), 2, kWeights);
  EXPECT_EQ(made.loss, 0.0);
  EXPECT_TRUE(std::isnan(made.gradient.front()));
}

TEST(WorkerGradients, AreSomethingElseFromAWorkerThatAttacks) {
  Ones source;
  const server::CoordinatorOptions options = options_of();
  const std::vector<worker::Attack> attacks{worker::Attack::parse("zero:workers=1", 2)};
  WorkerGradients gradients(source, options, attacks);
  EXPECT_EQ(gradients.make(WorkerId{0}, release_of(0, 2), 2, kWeights).gradient.front(), 1.0F);
  EXPECT_EQ(gradients.make(WorkerId{1}, release_of(2, 4), 2, kWeights).gradient.front(), 0.0F);
}

TEST(WorkerGradients, OfLocalStepsAreWhatTheStepsTakeOffTheWeights) {
  Ones source;
  const server::CoordinatorOptions options =
      options_of(server::LocalSteps{.most = 2, .optimizer = "sgd", .schedule = {}});
  WorkerGradients gradients(source, options, {});
  const auto made = gradients.make(WorkerId{0}, release_of(0, 4), 4, kWeights);
  EXPECT_EQ(source.seen, (Numbers{10.0F, 9.5F}));  // Mini-batches of two, at a rate of 0.5.
  EXPECT_EQ(made.gradient, (Numbers{1.0F, 1.0F}));
}

TEST(WorkerGradients, MadeAheadAreOfTheWeightsThatWerePushed) {
  Ones source;
  const server::CoordinatorOptions options =
      options_of(server::LocalSteps{.most = 2, .optimizer = "sgd", .schedule = {}});
  WorkerGradients gradients(source, options, {});
  EXPECT_EQ(gradients.make(WorkerId{0}, release_of(0, 4), 4, kWeights).gradient.front(), 1.0F);
  for (const std::size_t steps : {std::size_t{1}, std::size_t{2}}) {
    source.seen.clear();
    gradients.made_ahead(WorkerId{0}, steps);
    const auto made = gradients.make(WorkerId{0}, release_of(4, 8), 4, kWeights);
    EXPECT_EQ(source.seen, (steps == 1 ? Numbers{9.0F, 9.5F} : Numbers{9.0F, 8.5F}));
    EXPECT_EQ(made.gradient.front(), 1.0F);
  }
}

TEST(WorkerGradients, ForgetTheOptimizerOfAProcessThatEnded) {
  Ones source;
  const server::CoordinatorOptions options =
      options_of(server::LocalSteps{.most = 1, .optimizer = "momentum:mu=0.5", .schedule = {}});
  WorkerGradients gradients(source, options, {});
  const auto step = [&] {
    return gradients.make(WorkerId{0}, release_of(0, 2), 2, kWeights).gradient.front();
  };
  EXPECT_EQ(step(), 0.5F);
  EXPECT_EQ(step(), 0.75F);  // Half of the first step comes again.
  gradients.forget(WorkerId{0});
  EXPECT_EQ(step(), 0.5F);
}

}  // namespace
}  // namespace outpace::sim
