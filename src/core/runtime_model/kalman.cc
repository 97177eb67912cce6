#include "runtime_model/kalman.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <Eigen/Cholesky>

#include "base/check.h"
#include "base/rng.h"
#include "runtime_model/prior_spread.h"

namespace outpace::runtime_model {
namespace {

// From factors that barely move over a hundred iterations to factors that are new in each.
constexpr std::array<double, 8> kFactorKeep{0.995, 0.99, 0.97, 0.95, 0.9, 0.8, 0.5, 0.0};
constexpr double kKeepSums = 0.998;     // Weight of the past sums after an iteration.
constexpr double kPriorLoading = 0.1;   // Prior sigma of the loadings.
constexpr double kPriorRuntimes = 4.0;  // Weight of the prior, in runtimes.
constexpr double kSigmaLeast = 0.01;

constexpr auto kRank = static_cast<Eigen::Index>(kFactorKeep.size());

}  // namespace

void Kalman::begin(std::span<const Observation> iteration) {
  filter_.emplace(kFactorKeep);
  const double middle = std::log(median_seconds(iteration));
  for (std::size_t w = 0; w < iteration.size(); ++w) {
    // Loadings must differ at the start; otherwise all factors would learn the same.
    Rng rng(w, 0);
    Regression& worker = workers_.emplace_back();
    Eigen::VectorXd prior(kRank + 1);
    for (Eigen::Index k = 0; k < kRank; ++k) {
      prior[k] = kPriorLoading * rng.normal();
    }
    prior[kRank] = iteration[w].fate == Fate::kBusy ? middle : std::log(iteration[w].seconds);
    worker.xx = kPriorRuntimes * Eigen::MatrixXd::Identity(kRank + 1, kRank + 1);
    worker.xy = worker.xx * prior;
    worker.yy = prior.dot(worker.xy) + kPriorRuntimes * kPriorSigma * kPriorSigma;
    worker.count = kPriorRuntimes;
    solve(worker);
  }
}

void Kalman::Regression::keep(Archive& archive) {
  archive("parameters", parameters);
  keep_eigen(archive, "xx", xx);
  keep_eigen(archive, "xy", xy);
  archive("yy", yy)("count", count)("believed", believed);
  keep_eigen(archive, "x_then", x_then);
}

void Kalman::keep(Archive& archive) {
  archive("grid", grid_)("filter", filter_)("workers", workers_);
}

void Kalman::observe(std::span<const Observation> iteration) {
  grid_.follow(iteration);
  if (workers_.empty()) {
    begin(iteration);
  }
  CHECK(iteration.size() == workers_.size());
  filter_->step();
  for (std::size_t w = 0; w < iteration.size(); ++w) {
    if (iteration[w].fate == Fate::kArrived) {
      filter_->see(workers_[w].parameters, std::log(iteration[w].seconds));
    }
  }
  for (std::size_t w = 0; w < iteration.size(); ++w) {
    if (iteration[w].fate == Fate::kLonger) {
      workers_[w].believed =
          filter_->see_longer(workers_[w].parameters, std::log(iteration[w].seconds));
    } else if (iteration[w].fate == Fate::kArrived) {
      workers_[w].believed.reset();
    }
  }
  for (std::size_t w = 0; w < iteration.size(); ++w) {
    Regression& worker = workers_[w];
    if (iteration[w].fate == Fate::kArrived) {
      learn(worker, {.mean = std::log(iteration[w].seconds), .variance = 0.0});
    } else if (iteration[w].fate == Fate::kLonger) {
      learn(worker, *worker.believed);
    }
  }
}

void Kalman::learn(Regression& worker, const Normal& value) const {
  Eigen::VectorXd x(kRank + 1);
  x << filter_->mean(), 1.0;
  worker.xx *= kKeepSums;
  worker.xx += x * x.transpose();
  worker.xx.topLeftCorner(kRank, kRank) += filter_->covariance();
  worker.xy = kKeepSums * worker.xy + x * value.mean;
  worker.yy = kKeepSums * worker.yy + value.mean * value.mean + value.variance;
  worker.count = kKeepSums * worker.count + 1.0;
  worker.x_then = x;
  solve(worker);
}

void Kalman::solve(Regression& worker) {
  const Eigen::VectorXd found = worker.xx.llt().solve(worker.xy);
  worker.parameters.loading = found.head(kRank);
  worker.parameters.mean = found[kRank];
  // The residual sum of squares, sum of (y - b x)^2.
  const double left = worker.yy - found.dot(worker.xy);
  worker.parameters.variance = std::max(left / worker.count, kSigmaLeast * kSigmaLeast);
}

void Kalman::correct(std::uint32_t worker, double seconds) {
  Regression& one = workers_[worker];
  if (!one.believed) {
    return;
  }
  const double value = std::log(seconds);
  one.xy += one.x_then * (value - one.believed->mean);
  one.yy += value * value - one.believed->mean * one.believed->mean - one.believed->variance;
  one.believed.reset();
  solve(one);
}

bool Kalman::forecast(Forecast& out) {
  if (workers_.empty()) {
    return false;
  }
  LinearGaussian next = *filter_;
  next.step();
  out.reset(grid_.now(), static_cast<std::uint32_t>(workers_.size()));
  for (std::uint32_t w = 0; w < workers_.size(); ++w) {
    const Normal value = next.forecast(workers_[w].parameters);
    out.set_lognormal_row(w, std::exp(value.mean), std::sqrt(value.variance));
  }
  return true;
}

}  // namespace outpace::runtime_model
