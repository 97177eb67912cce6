#include "throughput/levenberg_marquardt.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

Bounds wide() {
  return {Eigen::Vector2d(-100, -100), Eigen::Vector2d(100, 100)};
}

TEST(LevenbergMarquardt, FindsTheBottomOfRosenbrocksValley) {
  const Residuals valley = [](const Eigen::VectorXd& x) -> Eigen::VectorXd {
    return Eigen::Vector2d(10.0 * (x(1) - x(0) * x(0)), 1.0 - x(0));
  };
  const LeastSquares found = minimise(valley, Eigen::Vector2d(-1.2, 1.0), wide());
  EXPECT_NEAR(found.parameters(0), 1.0, 1e-4);
  EXPECT_NEAR(found.parameters(1), 1.0, 1e-4);
  EXPECT_LT(found.sum, 1e-8);
}

TEST(LevenbergMarquardt, StaysWithinItsBounds) {
  const Residuals away = [](const Eigen::VectorXd& x) -> Eigen::VectorXd {
    return Eigen::Vector2d(x(0) - 5.0, x(1) + 1.0);
  };
  Bounds bounds = wide();
  bounds.most(0) = 2.0;
  const LeastSquares found = minimise(away, Eigen::Vector2d(0, 0), bounds);
  EXPECT_NEAR(found.parameters(0), 2.0, 1e-9);
  EXPECT_NEAR(found.parameters(1), -1.0, 1e-4);
}

TEST(LevenbergMarquardt, LeavesAloneWhatDoesNotMatter) {
  const Residuals one = [](const Eigen::VectorXd& x) -> Eigen::VectorXd {
    return Eigen::Vector2d(std::exp(x(0)) - 2.0, 0.0);
  };
  const LeastSquares found = minimise(one, Eigen::Vector2d(0, 3), wide());
  EXPECT_NEAR(found.parameters(0), std::log(2.0), 1e-6);
  EXPECT_EQ(found.parameters(1), 3.0);
}

}  // namespace
}  // namespace outpace::throughput
