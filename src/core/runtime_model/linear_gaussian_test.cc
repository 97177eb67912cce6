#include "runtime_model/linear_gaussian.h"

#include <cmath>
#include <cstdint>

#include <Eigen/LU>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::runtime_model {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kFactors = 2;
constexpr Index kSteps = 6;
constexpr Index kStrangers = 3;

std::vector<LinearGaussian::Worker> strangers(Rng& rng) {
  std::vector<LinearGaussian::Worker> workers;
  for (Index w = 0; w < kStrangers; ++w) {
    VectorXd loading(kFactors);
    loading << rng.normal(), rng.normal();
    workers.push_back({.loading = loading, .mean = rng.normal(), .variance = 0.1 + rng.uniform()});
  }
  return workers;
}

// The dumb twin: the joint normal of the factors at all times, conditioned at once on all that was
// seen.
struct Joint {
  VectorXd keep;
  std::vector<VectorXd> rows;  // For each value seen, its weights on the factors at all times.
  std::vector<double> errors;  // Values less their means.
  std::vector<double> noise;

  void see(Index t, const LinearGaussian::Worker& worker, double value) {
    VectorXd row = VectorXd::Zero(kFactors * kSteps);
    row.segment(t * kFactors, kFactors) = worker.loading;
    rows.push_back(row);
    errors.push_back(value - worker.mean);
    noise.push_back(worker.variance);
  }

  [[nodiscard]] Normal forecast(const LinearGaussian::Worker& worker) const {
    const Index size = kFactors * kSteps;
    MatrixXd prior = MatrixXd::Zero(size, size);
    for (Index s = 0; s < kSteps; ++s) {
      for (Index t = 0; t < kSteps; ++t) {
        for (Index k = 0; k < kFactors; ++k) {
          prior(s * kFactors + k, t * kFactors + k) =
              std::pow(keep[k], static_cast<double>(std::abs(s - t)));
        }
      }
    }
    const auto count = static_cast<Index>(rows.size());
    MatrixXd seen(count, size);
    VectorXd error(count);
    MatrixXd covariance = MatrixXd::Zero(count, count);
    for (Index i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      seen.row(i) = rows[at].transpose();
      error[i] = errors[at];
      covariance(i, i) = noise[at];
    }
    covariance += seen * prior * seen.transpose();
    const MatrixXd gain = prior * seen.transpose() * covariance.inverse();
    const VectorXd mean = gain * error;
    const MatrixXd left = prior - gain * seen * prior;
    return {.mean = worker.mean + worker.loading.dot(mean.tail(kFactors)),
            .variance =
                worker.variance +
                worker.loading.dot(left.bottomRightCorner(kFactors, kFactors) * worker.loading)};
  }
};

TEST(LinearGaussian, IsExactWhateverIsMissing) {
  const std::vector<double> keep{0.9, 0.3};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed, 0);
    const auto workers = strangers(rng);
    LinearGaussian filter(keep);
    Joint joint{.keep = Eigen::Map<const VectorXd>(keep.data(), kFactors)};
    for (Index t = 0; t < kSteps; ++t) {
      filter.step();
      for (const auto& worker : workers) {
        if (t + 1 < kSteps && rng.uniform() < 0.6) {
          const double value = 2.0 * rng.normal();
          filter.see(worker, value);
          joint.see(t, worker, value);
        }
      }
    }
    if (joint.rows.empty()) {
      continue;
    }
    for (const auto& worker : workers) {
      const Normal found = filter.forecast(worker);
      const Normal expected = joint.forecast(worker);
      EXPECT_NEAR(found.mean, expected.mean, 1e-9);
      EXPECT_NEAR(found.variance, expected.variance, 1e-9);
    }
  }
}

TEST(LinearGaussian, TruncatesANormalAsIntegrationDoes) {
  for (const double least : {-3.0, -0.5, 0.0, 1.0, 4.0, 9.0, 11.9, 12.1, 20.0}) {
    const Normal from{.mean = 0.5, .variance = 4.0};
    double sum = 0.0;
    double first = 0.0;
    double second = 0.0;
    for (int i = 0; i < 200'000; ++i) {
      const double beyond = 1e-4 * (i + 0.5);
      const double z = (least - 0.5) / 2.0;
      const double weight = std::exp(-0.5 * beyond * beyond - z * beyond);  // Sigmas beyond least.
      sum += weight;
      first += weight * beyond;
      second += weight * beyond * beyond;
    }
    const double mean = first / sum;
    const Normal found = truncated(from, least);
    EXPECT_NEAR(found.mean, least + 2.0 * mean, 1e-6) << least;
    EXPECT_NEAR(found.variance, 4.0 * (second / sum - mean * mean), 1e-5) << least;
  }
}

TEST(LinearGaussian, LearnsFromWhoIsCutOffThatAllAreSlow) {
  LinearGaussian filter(std::vector<double>{0.9});
  const LinearGaussian::Worker one{.loading = VectorXd::Ones(1), .mean = 0.0, .variance = 0.1};
  filter.step();
  const Normal before = filter.forecast(one);
  const Normal believed = filter.see_longer(one, 1.0);
  EXPECT_GT(believed.mean, 1.0);
  // What is believed of its own value holds of the factor that made it, too.
  EXPECT_GT(filter.forecast(one).mean, before.mean + 1.0);
  EXPECT_LT(filter.covariance()(0, 0), 1.0);
  filter.see_longer(one, 50.0);
  EXPECT_TRUE(std::isfinite(filter.forecast(one).mean));
  EXPECT_GT(filter.forecast(one).variance, 0.0);
}

}  // namespace
}  // namespace outpace::runtime_model
