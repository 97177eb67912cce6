// A loss in other units, and a learning rate that fits it: the same weights, and the same decisions
// of each policy that looks at losses or gradients.

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "metamorphic_run.h"
#include "settings.h"

namespace outpace::sim {
namespace {

constexpr std::size_t kWeights = 8;

// scale / 2 times the mean squared distance to the examples, which lie around one point. A scale
// that is a power of two rounds nothing otherwise.
class Quadratic final : public worker::GradientSource {
 public:
  explicit Quadratic(float scale) : scale_(scale) {
    manifest_.tensors.push_back({.name = "w", .shape = {kWeights}});
  }

  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return 4096; }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return std::vector<float>(kWeights, 0.0F);
  }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& /*cancelled*/) override {
    std::vector<float> sum(kWeights, 0.0F);
    double loss = 0.0;
    for (const std::uint64_t example : examples) {
      Rng rng(7, example);
      for (std::size_t i = 0; i < kWeights; ++i) {
        const float away = weights[i] - (3.0F + static_cast<float>(rng.normal()));
        sum[i] += away;
        loss += 0.5 * double(away) * double(away);
      }
    }
    for (std::size_t i = 0; i < kWeights; ++i) {
      gradient[i] = scale_ * (sum[i] / static_cast<float>(examples.size()));
    }
    return double(scale_) * loss / double(examples.size());
  }

 private:
  const float scale_;
  protocol::Manifest manifest_;
};

class QuadraticEvaluator final : public worker::Evaluator {
 public:
  explicit QuadraticEvaluator(float scale) : scale_(scale), source_(scale) {}

  [[nodiscard]] const protocol::Manifest& manifest() const override { return source_.manifest(); }
  [[nodiscard]] worker::Evaluation evaluate(std::span<const float> weights) override {
    double loss = 0.0;
    for (const float weight : weights) {
      loss += 0.5 * double(weight - 3.0F) * double(weight - 3.0F) + 0.5;
    }
    return {.accuracy = 0.5, .loss = double(scale_) * loss};
  }

 private:
  const float scale_;
  Quadratic source_;
};

Outcome run_scaled(const std::string& policy, float scale) {
  Quadratic gradients(scale);
  QuadraticEvaluator evaluator(scale);
  Learning learning{gradients, &evaluator};
  Scene scene{.policy = policy, .means = {0.1, 0.1, 0.17, 0.1, 0.17, 0.1}};
  scene.limits = {.updates = 200};
  scene.learning = &learning;
  scene.rate = 0.0625 / double(scale);
  return run(scene);
}

// "{1.5}": a loss of 1.5, at the scale.
std::string with_losses(std::string policy, float scale) {
  for (std::size_t at = policy.find('{'); at != std::string::npos; at = policy.find('{')) {
    const std::size_t end = policy.find('}', at);
    const double loss = double(scale) * std::stod(policy.substr(at + 1, end - at - 1));
    policy.replace(at, end - at + 1, std::to_string(loss));
  }
  return policy;
}

TEST(Metamorphic, UnitsOfTheLossDoNotMatter) {
  std::vector<std::string> policies = settings_of("adasync");
  policies.insert(policies.end(),
                  {"dynamic:objective=progress",
                   "switch(async until loss<{12} then sync)",
                   "switch(ssp:s=2 until test-loss<{8} then kasync:k=3)"});
  for (const std::string& policy : policies) {
    const Outcome one = run_scaled(with_losses(policy, 1.0F), 1.0F);
    for (const float scale : {1024.0F, 0.0078125F}) {
      const Outcome other = run_scaled(with_losses(policy, scale), scale);
      EXPECT_EQ(one.moments.size(), other.moments.size()) << policy << ", scale " << scale;
      EXPECT_TRUE(one.moments == other.moments) << policy << ", scale " << scale;
      EXPECT_EQ(one.result.weights, other.result.weights) << policy << ", scale " << scale;
    }
  }
}

// Otherwise the test above would tell nothing.
TEST(Metamorphic, TheLossMattersToPoliciesThatFollowIt) {
  Scene without{.policy = "adasync:k=1", .means = {0.1, 0.1, 0.17, 0.1, 0.17, 0.1}};
  without.limits = {.updates = 200};
  EXPECT_FALSE(run(without).moments == run_scaled("adasync:k=1", 1.0F).moments);
  const Outcome switched = run_scaled("switch(async until loss<12 then sync)", 1.0F);
  EXPECT_FALSE(switched.moments == run_scaled("async", 1.0F).moments);
}

}  // namespace
}  // namespace outpace::sim
