// The exact filter of a few factors that many workers' log runtimes share.
//
//   z_t  =  a z_{t-1} + N(0, 1 - a^2)       each factor by itself, of variance 1 in the long run
//   y_w  =  m_w + c_w z_t + N(0, r_w)       log seconds of worker w
//
// A worker that was not seen says nothing of z_t: whatever is missing is left out, exactly. Of one
// that was cut off, y_w > s: its truncated normal is replaced by the normal of the same mean and
// variance (assumed-density filtering), the one approximation here.

#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

namespace outpace::runtime_model {

struct Normal {
  double mean = 0.0;
  double variance = 1.0;
};

// y given y ~ from and y > least.
[[nodiscard]] Normal truncated(const Normal& from, double least);

class LinearGaussian {
 public:
  struct Worker {
    Eigen::VectorXd loading;  // c_w: a number for each factor.
    double mean = 0.0;        // m_w
    double variance = 1.0;    // r_w > 0
  };

  // a of each factor, in [0, 1).
  explicit LinearGaussian(std::span<const double> keep);

  // From z_{t-1} to z_t, of which nothing was seen yet.
  void step();
  void see(const Worker& worker, double value);
  // Returns what is believed of its value now.
  Normal see_longer(const Worker& worker, double least);

  // Of a value at this time, given all that was seen.
  [[nodiscard]] Normal forecast(const Worker& worker) const;
  [[nodiscard]] const Eigen::VectorXd& mean() const { return mean_; }
  [[nodiscard]] const Eigen::MatrixXd& covariance() const { return covariance_; }

 private:
  // A measurement of `value`, with so much noise beyond the worker's own.
  void measure(const Worker& worker, double value, double noise);

  Eigen::VectorXd keep_;
  Eigen::VectorXd mean_;
  Eigen::MatrixXd covariance_;
};

}  // namespace outpace::runtime_model
