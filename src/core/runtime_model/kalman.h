// A few factors that workers share, plus each worker's own noise: a low-rank linear-Gaussian
// state-space model of log runtimes. Its parameters are learnt during the run.
//
// LinearGaussian filters. A worker's mean, loadings and noise are the regression of its log
// runtimes on the factors, with exponentially decaying sums (online expectation-maximisation: Cappe
// & Moulines, "On-line expectation-maximization algorithm for latent data models", 2009). For a
// worker that was cut off, the regression uses the mean and variance of its truncated normal, and
// its late time once that is known.
//
// Being linear and normal, it gives each worker a single mode. Slow periods are attributed to the
// factors or to noise.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "runtime_model/linear_gaussian.h"
#include "runtime_model/moving_grid.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class Kalman final : public RuntimeModel {
 public:
  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;
  void keep(Archive& archive) override;

 private:
  // A worker's parameters and the sums that they are computed from; x is (z, 1).
  struct Regression {
    LinearGaussian::Worker parameters;
    Eigen::MatrixXd xx;
    Eigen::VectorXd xy;
    double yy = 0.0;
    double count = 0.0;
    // The belief used when it was cut off last, which its late time may replace.
    std::optional<Normal> believed;
    Eigen::VectorXd x_then;

    void keep(Archive& archive);
  };

  void begin(std::span<const Observation> iteration);
  void learn(Regression& worker, const Normal& value) const;
  static void solve(Regression& worker);

  MovingGrid grid_;
  std::optional<LinearGaussian> filter_;
  std::vector<Regression> workers_;
};

}  // namespace outpace::runtime_model
