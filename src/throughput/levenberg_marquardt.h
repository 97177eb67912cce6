// The parameters at which a sum of squares is least, near where the search begins.

#pragma once

#include <functional>

#include <Eigen/Core>

namespace outpace::throughput {

// The residuals for these parameters, always as many.
using Residuals = std::function<Eigen::VectorXd(const Eigen::VectorXd& parameters)>;

struct Bounds {
  Eigen::VectorXd least;
  Eigen::VectorXd most;
};

struct LeastSquares {
  Eigen::VectorXd parameters;
  double sum = 0.0;  // Of the squared residuals.
};

// Levenberg's and Marquardt's method (Marquardt 1963; Nocedal & Wright, Numerical Optimization,
// section 10.3) with derivatives by differences, each step cut at the bounds. Ends when a step
// gains less than 1e-10 of the sum, or after 200. REQUIRES: start within bounds, where all
// residuals are finite; parameters of about 1, as logarithms.
[[nodiscard]] LeastSquares minimise(const Residuals& residuals,
                                    Eigen::VectorXd start,
                                    const Bounds& bounds);

}  // namespace outpace::throughput
