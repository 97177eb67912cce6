// Finds parameters that minimise a sum of squares, near a starting point.

#pragma once

#include <functional>

#include <Eigen/Core>

namespace outpace::throughput {

// Returns the residuals for these parameters; their number must not change.
using Residuals = std::function<Eigen::VectorXd(const Eigen::VectorXd& parameters)>;

struct Bounds {
  Eigen::VectorXd least;
  Eigen::VectorXd most;
};

struct LeastSquares {
  Eigen::VectorXd parameters;
  double sum = 0.0;  // The sum of the squared residuals.
};

// The method of Levenberg and Marquardt (Marquardt 1963; Nocedal & Wright, Numerical Optimization,
// section 10.3) with finite-difference derivatives. Each step is clipped to the bounds. Stops when
// a step gains less than 1e-10 of the sum, or after 200 steps. REQUIRES: start is within bounds,
// where all residuals are finite; parameters are of the order of 1, such as logarithms.
[[nodiscard]] LeastSquares minimise(const Residuals& residuals,
                                    Eigen::VectorXd start,
                                    const Bounds& bounds);

}  // namespace outpace::throughput
