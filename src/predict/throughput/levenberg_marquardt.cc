#include "throughput/levenberg_marquardt.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <Eigen/Cholesky>

namespace outpace::throughput {
namespace {

constexpr int kStepsMax = 200;
constexpr int kTriesMax = 12;  // Tries per step, each more cautious than the last.
constexpr double kDifference = 1e-5;
constexpr double kGainLeast = 1e-10;  // Relative to the sum.
// Change of a parameter; the derivative says nothing about larger ones.
constexpr double kStepMost = 2.0;

Eigen::MatrixXd jacobian_at(const Residuals& residuals,
                            const Eigen::VectorXd& parameters,
                            const Eigen::VectorXd& here) {
  Eigen::MatrixXd jacobian(here.size(), parameters.size());
  for (Eigen::Index i = 0; i < parameters.size(); ++i) {
    Eigen::VectorXd moved = parameters;
    moved(i) += kDifference;
    jacobian.col(i) = (residuals(moved) - here) / kDifference;
  }
  return jacobian;
}

// The state between two steps.
struct Search {
  LeastSquares best;
  Eigen::VectorXd residuals;
  double damping = 1e-2;
};

// Takes one step that reduces the sum; returns nothing if none does.
std::optional<LeastSquares> step(const Residuals& residuals, const Bounds& bounds, Search& search) {
  const Eigen::MatrixXd jacobian = jacobian_at(residuals, search.best.parameters, search.residuals);
  const Eigen::MatrixXd normal = jacobian.transpose() * jacobian;
  const Eigen::VectorXd gradient = jacobian.transpose() * search.residuals;
  for (int attempt = 0; attempt < kTriesMax; ++attempt) {
    Eigen::MatrixXd damped = normal;
    damped.diagonal() += search.damping * (normal.diagonal().array() + 1e-8).matrix();
    const Eigen::VectorXd move =
        (-damped.ldlt().solve(gradient)).cwiseMax(-kStepMost).cwiseMin(kStepMost);
    LeastSquares found;
    found.parameters = (search.best.parameters + move).cwiseMax(bounds.least).cwiseMin(bounds.most);
    const Eigen::VectorXd there = residuals(found.parameters);
    found.sum = there.squaredNorm();
    if (found.sum < search.best.sum) {
      search.residuals = there;
      search.damping = std::max(search.damping / 5, 1e-9);
      return found;
    }
    search.damping *= 4;
  }
  return std::nullopt;
}

}  // namespace

LeastSquares minimise(const Residuals& residuals, Eigen::VectorXd start, const Bounds& bounds) {
  Search search;
  search.residuals = residuals(start);
  search.best = {std::move(start), search.residuals.squaredNorm()};
  for (int i = 0; i < kStepsMax; ++i) {
    const double before = search.best.sum;
    auto found = step(residuals, bounds, search);
    if (!found) {
      break;
    }
    search.best = std::move(*found);
    if (before - search.best.sum <= kGainLeast * before) {
      break;
    }
  }
  return search.best;
}

}  // namespace outpace::throughput
