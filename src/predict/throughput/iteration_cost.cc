#include "throughput/iteration_cost.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::throughput {

double growth_of(Growth growth, double workers) {
  CHECK(workers >= 1.0);
  switch (growth) {
    case Growth::kSaturating:
      return (workers - 1.0) / workers;
    case Growth::kLogarithmic:
      return std::log2(workers);
    case Growth::kLinear:
      return workers - 1.0;
  }
  CHECK(false);
}

double compute_seconds(const IterationCost& cost, double batch_per_worker) {
  return cost.compute_fixed +
         batch_per_worker * (cost.compute_example + batch_per_worker * cost.compute_square);
}

double sync_seconds(const IterationCost& cost, const Configuration& configuration) {
  if (configuration.workers == 1) {
    return 0.0;
  }
  const SyncCost& sync = configuration.nodes == 1 ? cost.local : cost.across;
  return sync.fixed + sync.growth * growth_of(cost.growth, configuration.workers);
}

double iteration_seconds(const IterationCost& cost, const Configuration& configuration) {
  const double compute = compute_seconds(cost, configuration.batch_per_worker);
  const double sync = sync_seconds(cost, configuration);
  const double longer = std::max(compute, sync);
  if (longer <= 0.0) {
    return 0.0;
  }
  // Dividing by the longer first avoids underflow of powers of small seconds.
  const double shorter = std::min(compute, sync) / longer;
  return longer * std::pow(1.0 + std::pow(shorter, cost.overlap), 1.0 / cost.overlap);
}

}  // namespace outpace::throughput
