#include "fit/deep_fit.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "runtime_model/trial.h"

namespace outpace::fit {
namespace {

using runtime_model::DeepWeights;
using runtime_model::Trace;

// Six workers in two machines, each of which is slow in one iteration of eight or so.
Trace made(std::size_t rows) {
  Rng rng(1, 0);
  std::vector<double> seconds;
  std::vector<bool> slow(2, false);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t machine = 0; machine < slow.size(); ++machine) {
      slow[machine] = slow[machine] ? rng.uniform() < 0.8 : rng.uniform() < 0.03;
      for (int w = 0; w < 3; ++w) {
        seconds.push_back((slow[machine] ? 0.1 : 0.02) * std::exp(0.1 * rng.normal()));
      }
    }
  }
  return {std::move(seconds), 6};
}

TEST(DeepFit, TheLowerBoundAndWhatIsForetoldRise) {
  const Trace trace = made(300);
  const DeepFitOptions options{.updates = 300, .patience = 100, .begin = {}};
  std::vector<DeepFitProgress> seen;
  const DeepWeights found =
      fit_deep(std::span(&trace, 1), options, [&](const DeepFitProgress& one, const DeepWeights&) {
        seen.push_back(one);
        return true;
      });
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_GT(seen.back().bound, seen.front().bound);
  const double before = log_score(initial_deep_weights(options.shape, options.seed), trace, 255);
  EXPECT_GT(log_score(found, trace, 255), before + 0.1);
}

TEST(DeepFit, OfAJointModelTheBoundAndWhatIsForetoldRise) {
  const Trace trace = made(300);
  const DeepFitOptions options{
      .updates = 200, .patience = 100, .shape = runtime_model::joint_shape(6), .begin = {}};
  std::vector<DeepFitProgress> seen;
  const DeepWeights found =
      fit_deep(std::span(&trace, 1), options, [&](const DeepFitProgress& one, const DeepWeights&) {
        seen.push_back(one);
        return true;
      });
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_GT(seen.back().bound, seen.front().bound);
  EXPECT_EQ(found.shape.workers, 6U);
  DeepWeights initial = initial_deep_weights(options.shape, options.seed);
  initial.mean = found.mean;
  initial.deviation = found.deviation;
  EXPECT_NEAR(std::exp(found.mean), 0.03, 0.02);  // Between 0.02 and 0.1, nearer the former.
  EXPECT_GT(log_score(found, trace, 255), log_score(initial, trace, 255) + 0.1);
}

TEST(DeepFit, IsTheSameEachTimeAndGoesOnFromWhatItGave) {
  const Trace trace = made(60);
  const auto go_on = [](const DeepFitProgress&, const DeepWeights&) { return true; };
  DeepFitOptions options{.updates = 3, .begin = {}};
  const DeepWeights one = fit_deep(std::span(&trace, 1), options, go_on);
  EXPECT_EQ(fit_deep(std::span(&trace, 1), options, go_on).numbers, one.numbers);
  // It never gives back anything worse than it began with.
  options.begin = one;
  const DeepWeights other = fit_deep(std::span(&trace, 1), options, go_on);
  EXPECT_GE(log_score(other, trace, 51), log_score(one, trace, 51));
}

TEST(DeepFit, EndsWhenItIsToldTo) {
  const Trace trace = made(60);
  std::uint32_t updates = 0;
  (void)fit_deep(std::span(&trace, 1),
                 {.updates = 1000, .begin = {}},
                 [&](const DeepFitProgress& progress, const DeepWeights&) {
                   updates = progress.updates;
                   return false;
                 });
  EXPECT_EQ(updates, 100U);
}

}  // namespace
}  // namespace outpace::fit
