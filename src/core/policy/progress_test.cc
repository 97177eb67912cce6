#include "policy/progress.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

using Goal = Progress::Goal;

Paces constant(std::vector<float> workers, std::uint32_t rows = 4) {
  Paces paces{.workers = static_cast<std::uint32_t>(workers.size()), .seconds = {}};
  for (std::uint32_t i = 0; i < rows; ++i) {
    paces.seconds.insert(paces.seconds.end(), workers.begin(), workers.end());
  }
  return paces;
}

TEST(Progress, IsTheSameForEqualConstantWorkers) {
  const Paces paces = constant({2.0F, 2.0F, 2.0F, 2.0F});
  for (const double phi : {0.1, 3.0, 1000.0}) {
    const double all = 4.0 / (4.0 + phi) / 2.0;
    EXPECT_NEAR(Progress::of_all(paces, phi), all, 1e-12);
    EXPECT_NEAR(Progress().by_deadline(paces, phi, Goal::kGradients), all, 1e-12);
    EXPECT_NEAR(Progress().by_deadline(paces, phi, Goal::kProgress), all, 1e-12);
    EXPECT_NEAR(Progress::of_each(paces, phi), all, 1e-12);
    EXPECT_NEAR(Progress::in_step(paces, phi, 0), all, 1e-12);
    EXPECT_NEAR(Progress::in_step(paces, phi, 3), all, 1e-12);  // They stay together.
  }
}

// Six of eight take 1 s, two of them 4 s.
const Paces kFixed = constant({1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 4.0F, 4.0F});

double mixed(const std::vector<Progress::Stale>& by_staleness, std::uint64_t updates) {
  return Progress::mixed_gradients(by_staleness, updates);
}

TEST(Progress, OfARunsOwnUpdatesIsTheSameForEqualConstantWorkers) {
  // Four workers: all in an update, or each by itself.
  EXPECT_DOUBLE_EQ(mixed({{0, 400}}, 100), 4.0);
  EXPECT_DOUBLE_EQ(mixed({{3, 400}}, 400), 4.0);
  EXPECT_DOUBLE_EQ(mixed({{1, 400}}, 200), 4.0) << "updates of two";
}

TEST(Progress, OfARunOfRoundsAndOfSingleGradientsIsTheMean) {
  // Half of the gradients in rounds of eight, half alone and three updates stale.
  EXPECT_DOUBLE_EQ(mixed({{0, 400}, {3, 400}}, 50 + 400), (8.0 + 4.0) / 2.0);
  // Those that begin alone are not stale yet.
  EXPECT_NEAR(mixed({{0, 4}, {3, 400}}, 404), 4.0, 0.04);
}

TEST(Progress, OfARunLeavesOutTheStalestInAHundred) {
  EXPECT_DOUBLE_EQ(mixed({{3, 999}, {500, 1}}, 1000), 1.0 + std::sqrt(3.0 * 3.497));
  EXPECT_GT(mixed({{3, 900}, {12, 100}}, 1000), 1.0 + std::sqrt(12.0 * 3.0));
}

TEST(Progress, OfADeadlineDoesNotWaitForTheSlow) {
  for (const double phi : {0.1, 12.5, 1000.0}) {
    EXPECT_NEAR(Progress::of_all(kFixed, phi), 8.0 / (8.0 + phi) / 4.0, 1e-12);
    EXPECT_NEAR(Progress().by_deadline(kFixed, phi, Goal::kGradients), 6.0 / (6.0 + phi), 1e-12);
  }
}

// Three that have as much to do as they are fast: 0.6 of a mini-batch counts as that.
TEST(Progress, OfADeadlineCountsWhatMiniBatchesHave) {
  Paces paces = constant({1.2F, 1.2F, 1.2F});
  for (std::uint32_t row = 0; row < paces.rows(); ++row) {
    paces.sizes.insert(paces.sizes.end(), {1.2F, 1.2F, 0.6F});
  }
  EXPECT_NEAR(Progress().by_deadline(paces, 5.0, Goal::kGradients), 3.0 / (3.0 + 5.0) / 1.2, 1e-6);
  paces.seconds[2] = 12.0F;  // The last is late once: three rows of 3, and one of 2.4.
  const double all = 3 * (3.0 / 8.0) + 2.4 / 7.4;
  EXPECT_NEAR(Progress().by_deadline(paces, 5.0, Goal::kGradients), all / (4 * 1.2), 1e-6);
}

// 6.5 gradients a second; the slow are 25 versions behind, the mean is 7.
TEST(Progress, OfEachGradientPaysForItsStaleness) {
  const double root = std::sqrt(25.0 * 7.0);
  EXPECT_NEAR(Progress::of_each(kFixed, 12.5), 6.5 / (13.5 + root), 1e-9);
  EXPECT_NEAR(Progress::of_each(kFixed, 12.5, 14.0), 6.5 / (13.5 + std::sqrt(14.0 * 7.0)), 1e-9);
  // By far the most noise: gradients a second are all that counts.
  constexpr double kNoise = 1e9;
  EXPECT_NEAR(Progress::of_each(kFixed, kNoise) * kNoise, 6.5, 1e-3);
  EXPECT_GT(Progress::of_each(kFixed, kNoise),
            Progress().by_deadline(kFixed, kNoise, Goal::kGradients));
}

TEST(Progress, InStepGoesAtThePaceOfTheSlowest) {
  EXPECT_NEAR(Progress::in_step(kFixed, 1e9, 3) * 1e9, 8.0 / 4.0, 1e-3);
  // By themselves the slow are 25 versions behind; in step at most two iterations of seven others.
  EXPECT_NEAR(Progress::in_step(kFixed, 12.5, 1), 2.0 / (13.5 + std::sqrt(14.0 * 7.0)), 1e-9);
  EXPECT_NEAR(Progress::in_step(kFixed, 12.5, 9), 2.0 / (13.5 + std::sqrt(25.0 * 7.0)), 1e-9);
}

// Without noise one gradient tells all: the first two that come are enough.
TEST(Progress, WithoutNoiseIsOfTheFirstGradients) {
  const Paces paces = constant({1.0F, 1.5F, 2.0F});
  EXPECT_NEAR(Progress().by_deadline(paces, 0.0, Goal::kProgress), 1.0 / 1.5, 1e-12);
  // Gradients a second are most at 2 s: 3 / 2.
  EXPECT_NEAR(Progress().by_deadline(paces, 0.0, Goal::kGradients), 1.0 / 2.0, 1e-12);
}

// The dumb twin: each deadline by itself.
TEST(Progress, OfTheBestDeadlineIsThatOfATrialOfAll) {
  Paces paces{.workers = 5, .seconds = {}};
  for (std::uint32_t i = 0; i < 60; ++i) {
    paces.seconds.push_back(static_cast<float>(1.0 + ((i * 37) % 23) / 4.0));
  }
  for (const double phi : {0.5, 4.0, 50.0}) {
    double best = 0.0;
    for (const float deadline : paces.seconds) {
      double progress = 0.0;
      double seconds = 0.0;
      double all = 0.0;
      for (std::uint32_t i = 0; i < paces.rows(); ++i) {
        double came = 0.0;
        float last = 0.0F;
        for (const float runtime : paces.row(i)) {
          came += runtime <= deadline ? 1.0 : 0.0;
          last = std::max(last, runtime);
        }
        progress += came / (came + phi);
        all += came;
        seconds += std::min(last, deadline);
      }
      best = all >= 2.0 * paces.rows() ? std::max(best, progress / seconds) : best;
    }
    EXPECT_NEAR(Progress().by_deadline(paces, phi, Goal::kProgress), best, 1e-9);
  }
}

}  // namespace
}  // namespace outpace::policy
