// Factors that workers share, and each worker's own noise: a low-rank linear-Gaussian state-space
// model of log runtimes, its parameters learnt in the run.
//
// The filter is LinearGaussian's. A worker's mean, loadings and noise are the regression of its log
// runtimes on the factors, with sums that fade (online expectation-maximisation: Cappe & Moulines,
// "On-line expectation-maximization algorithm for latent data models", 2009). Of a worker that was
// cut off, the regression takes the mean and variance of its truncated normal; if its time becomes
// known, that instead. Linear and normal: a worker has one mode, and its slow periods are the
// factors' or noise.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "runtime_model/linear_gaussian.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class Kalman final : public RuntimeModel {
 public:
  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;

 private:
  // Of a worker: its parameters, and the sums that they are from. x is (z, 1).
  struct Regression {
    LinearGaussian::Worker parameters;
    Eigen::MatrixXd xx;
    Eigen::VectorXd xy;
    double yy = 0.0;
    double count = 0.0;
    // What was believed when it was cut off last, and may turn out otherwise.
    std::optional<Normal> believed;
    Eigen::VectorXd x_then;
  };

  void begin(std::span<const Observation> iteration);
  void learn(Regression& worker, const Normal& value) const;
  static void solve(Regression& worker);

  TimeGrid grid_;
  std::optional<LinearGaussian> filter_;
  std::vector<Regression> workers_;
};

}  // namespace outpace::runtime_model
