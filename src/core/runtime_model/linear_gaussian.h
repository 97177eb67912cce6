// The exact filter of a few factors that the log runtimes of many workers share.
//
//   z_t  =  a z_{t-1} + N(0, 1 - a^2)       each factor on its own, with stationary variance 1
//   y_w  =  m_w + c_w z_t + N(0, r_w)       log seconds of worker w
//
// A worker that was not observed says nothing about z_t and is left out, which is exact. A worker
// that was cut off gives y_w > s. Its truncated normal is replaced by the normal of the same mean
// and variance (assumed-density filtering), which is the only approximation.

#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "base/archive.h"
#include "runtime_model/keep_eigen.h"

namespace outpace::runtime_model {

struct Normal {
  double mean = 0.0;
  double variance = 1.0;

  void keep(Archive& archive) { archive("mean", mean)("variance", variance); }
};

// The mean and variance of y ~ from, given y > least.
[[nodiscard]] Normal truncated(const Normal& from, double least);

class LinearGaussian {
 public:
  struct Worker {
    Eigen::VectorXd loading;  // c_w, one number per factor.
    double mean = 0.0;        // m_w
    double variance = 1.0;    // r_w > 0

    void keep(Archive& archive) {
      keep_eigen(archive, "loading", loading);
      archive("mean", mean)("variance", variance);
    }
  };

  // `keep`: a of each factor, in [0, 1).
  LinearGaussian() = default;  // Has no factor; to be read.
  explicit LinearGaussian(std::span<const double> keep);

  void keep(Archive& archive) {
    keep_eigen(archive, "keep", keep_);
    keep_eigen(archive, "mean", mean_);
    keep_eigen(archive, "covariance", covariance_);
  }

  // Advances from z_{t-1} to z_t, before any observation at t.
  void step();
  void see(const Worker& worker, double value);
  // Observes a value above `least`; returns the belief about that value.
  Normal see_longer(const Worker& worker, double least);

  // The predictive distribution of a value at this time, given all observations.
  [[nodiscard]] Normal forecast(const Worker& worker) const;
  [[nodiscard]] const Eigen::VectorXd& mean() const { return mean_; }
  [[nodiscard]] const Eigen::MatrixXd& covariance() const { return covariance_; }

 private:
  // A measurement of `value`, with `noise` added to the worker's own variance.
  void measure(const Worker& worker, double value, double noise);

  Eigen::VectorXd keep_;
  Eigen::VectorXd mean_;
  Eigen::MatrixXd covariance_;
};

}  // namespace outpace::runtime_model
