#include "throughput/fit_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "throughput/levenberg_marquardt.h"

namespace outpace::throughput {
namespace {

constexpr double kHuber = 0.1;       // Larger relative errors count linearly.
constexpr double kSyncWeight = 0.5;  // Weight of a known sync_seconds, relative to the iteration.
// Share of an iteration; a smaller difference of the two is noise.
constexpr double kComputeLeast = 0.1;
// Share of the shortest iteration; a smaller coefficient counts as zero.
constexpr double kNothing = 1e-6;

// Which coefficients are free.
struct Shape {
  bool example = false;
  bool square = false;
  bool local = false;
  bool local_fixed = false;
  bool across = false;
  bool across_fixed = false;
  bool shared = false;  // local and across are the same, without a fixed part.
  bool overlap = false;

  [[nodiscard]] int count() const {
    const int sync = shared ? 1 : local + local_fixed + across + across_fixed;
    return 1 + example + square + sync + overlap;
  }
};

Shape shape_of(std::span<const Row> rows) {
  std::set<double> batches;
  std::set<std::uint32_t> local;
  std::set<std::uint32_t> across;
  std::set<std::tuple<std::uint32_t, std::uint32_t, double>> different;
  for (const Row& row : rows) {
    const auto& [workers, nodes, batch, policy, topology] = row.configuration;
    batches.insert(batch);
    different.insert({workers, nodes, batch});
    if (workers > 1) {
      (nodes == 1 ? local : across).insert(workers);
    }
  }
  Shape shape{.example = batches.size() >= 2,
              .square = batches.size() >= 4,
              .local = !local.empty(),
              .local_fixed = local.size() >= 2,
              .across = !across.empty(),
              .across_fixed = across.size() >= 2,
              .overlap = batches.size() >= 2 && local.size() + across.size() > 0};
  const int rows_count = static_cast<int>(different.size());
  if (rows_count <= shape.count()) {
    shape.square = false;
    shape.overlap = false;
  }
  if (rows_count <= shape.count()) {
    shape.shared = shape.local || shape.across;
  }
  if (rows_count < shape.count()) {
    shape.example = false;
  }
  if (rows_count < shape.count()) {
    shape.shared = shape.local = shape.across = false;
    shape.local_fixed = shape.across_fixed = false;
  }
  return shape;
}

// Packs coefficients as a vector of logarithms, so that none is negative.
class Packing {
 public:
  Packing(std::span<const Row> rows, Growth growth, double overlap)
      : shape_(shape_of(rows)), growth_(growth), overlap_(overlap) {
    std::vector<double> batches;
    batches.reserve(rows.size());
    least_ = std::numeric_limits<double>::infinity();
    for (const Row& row : rows) {
      CHECK(row.iteration_seconds);
      batches.push_back(row.configuration.batch_per_worker);
      least_ = std::min(least_, *row.iteration_seconds);
      most_ = std::max(most_, *row.iteration_seconds);
    }
    std::ranges::sort(batches);
    batch_ = batches[batches.size() / 2];
  }

  [[nodiscard]] const Shape& shape() const { return shape_; }

  [[nodiscard]] Eigen::VectorXd start(double odds) const {
    Eigen::VectorXd parameters = Eigen::VectorXd::Constant(shape_.count(), std::log(0.1 * least_));
    parameters.head(1 + shape_.example + shape_.square).setConstant(std::log(0.3 * least_));
    if (shape_.overlap) {
      parameters(parameters.size() - 1) = std::log(odds);
    }
    return parameters;
  }

  [[nodiscard]] Bounds bounds() const {
    Bounds bounds{Eigen::VectorXd::Constant(shape_.count(), std::log(1e-9 * least_)),
                  Eigen::VectorXd::Constant(shape_.count(), std::log(10.0 * most_))};
    if (shape_.overlap) {
      bounds.least(shape_.count() - 1) = -20.0;
      bounds.most(shape_.count() - 1) = 20.0;
    }
    return bounds;
  }

  [[nodiscard]] IterationCost cost_of(const Eigen::VectorXd& parameters) const {
    Eigen::Index next = 0;
    const auto take = [&](bool is_free) { return is_free ? std::exp(parameters(next++)) : 0.0; };
    IterationCost cost{.growth = growth_, .overlap = overlap_};
    cost.compute_fixed = take(true);
    cost.compute_example = take(shape_.example) / batch_;
    cost.compute_square = take(shape_.square) / batch_ / batch_;
    if (shape_.shared) {
      cost.local.growth = cost.across.growth = take(true);
    } else {
      cost.local = {.fixed = take(shape_.local_fixed), .growth = take(shape_.local)};
      cost.across = {.fixed = take(shape_.across_fixed), .growth = take(shape_.across)};
    }
    if (shape_.overlap) {  // Maps any number above 0 to 1 to 10.
      const double odds = take(true);
      cost.overlap = 1.0 + (kOverlapMost - 1.0) * odds / (1.0 + odds);
    }
    return cost;
  }

  // Sets negligible coefficients to zero, except c0, so that an iteration takes some time.
  // Coefficients that no row determines are copied from those that some row does.
  [[nodiscard]] IterationCost finished(IterationCost cost) const {
    const double nothing = kNothing * least_;
    const auto clear = [nothing](double& seconds, double scale) {
      seconds = seconds * scale < nothing ? 0.0 : seconds;
    };
    clear(cost.compute_example, batch_);
    clear(cost.compute_square, batch_ * batch_);
    for (SyncCost* const sync : {&cost.local, &cost.across}) {
      clear(sync->fixed, 1.0);
      clear(sync->growth, 1.0);
    }
    if (!shape_.example) {
      cost.compute_fixed /= 2;
      cost.compute_example = cost.compute_fixed / batch_;
    }
    if (!shape_.shared && !shape_.local) {
      cost.local = cost.across;
    } else if (!shape_.shared && !shape_.across) {
      cost.across = cost.local;
    }
    return cost;
  }

 private:
  Shape shape_;
  Growth growth_;
  double overlap_;      // The value of g if it is not free.
  double batch_ = 1.0;  // The median batch; relative to it, c1 and c2 are of the order of c0.
  double least_ = 0.0;  // In seconds.
  double most_ = 0.0;
};

// A number whose square is rho(error).
double softened(double error) {
  const double size = std::fabs(error);
  return size <= kHuber ? error : std::copysign(std::sqrt(kHuber * (2.0 * size - kHuber)), error);
}

Eigen::VectorXd residuals_of(std::span<const Row> rows, const IterationCost& cost) {
  const auto count = static_cast<Eigen::Index>(rows.size());
  Eigen::VectorXd residuals = Eigen::VectorXd::Zero(2 * count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const Row& row = rows[static_cast<std::size_t>(i)];
    residuals(i) =
        softened(std::log(iteration_seconds(cost, row.configuration) / *row.iteration_seconds));
    if (row.sync_seconds) {
      const double rest = *row.iteration_seconds - *row.sync_seconds;
      if (rest > kComputeLeast * *row.iteration_seconds) {
        const double compute = compute_seconds(cost, row.configuration.batch_per_worker);
        residuals(count + i) = std::sqrt(kSyncWeight) * softened(std::log(compute / rest));
      }
    }
  }
  return residuals;
}

}  // namespace

CostFit fit_cost(std::span<const Row> rows, Growth growth, double overlap) {
  CHECK(!rows.empty() && overlap >= 1.0 && overlap <= kOverlapMost);
  const Packing packing(rows, growth, overlap);
  const Residuals residuals = [&](const Eigen::VectorXd& parameters) {
    return residuals_of(rows, packing.cost_of(parameters));
  };
  LeastSquares best;
  best.sum = std::numeric_limits<double>::infinity();
  for (const double odds : {0.12, 1.0}) {  // g = 2 and 5.5: the sum has a minimum on either side.
    LeastSquares found = minimise(residuals, packing.start(odds), packing.bounds());
    if (found.sum < best.sum) {
      best = std::move(found);
    }
    if (!packing.shape().overlap) {
      break;
    }
  }
  CostFit fit{.cost = packing.finished(packing.cost_of(best.parameters)),
              .coefficients = static_cast<std::size_t>(packing.shape().count()),
              .overlap_known = packing.shape().overlap};
  const auto count = static_cast<Eigen::Index>(rows.size());
  fit.error = std::sqrt(residuals_of(rows, fit.cost).head(count).squaredNorm() /
                        static_cast<double>(rows.size()));
  return fit;
}

}  // namespace outpace::throughput
