#include "throughput/efficiency.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::throughput {

double efficiency(double noise_scale, const Batches& batches) {
  CHECK(std::isfinite(noise_scale) && noise_scale > 0.0);
  CHECK(batches.mixed > 0.0 && batches.first > 0.0);
  return (noise_scale + batches.first) / (noise_scale + batches.mixed);
}

double examples_to(const policy::Reached& reached, double noise_scale, double mixed) {
  return reached.examples / efficiency(noise_scale, {.mixed = mixed, .first = reached.mixed});
}

namespace {

// The staleness if no worker waits, by how often each computes: sqrt(tau_max tau_avg). The mean
// staleness of W workers is W - 1, whatever their speeds; the slowest one's gradient is as stale as
// the updates of all others in its time.
double free_staleness(const Computing& computing) {
  const std::size_t workers = computing.front().mean.size();
  double sum = 0.0;
  for (const Period& period : computing) {
    double rate = 0.0;
    for (const double seconds : period.mean) {
      rate += 1.0 / seconds;
    }
    const double slowest = *std::max_element(period.mean.begin(), period.mean.end());
    const double most = rate * slowest - 1.0;
    sum += std::sqrt(most * static_cast<double>(workers - 1));
  }
  return sum / static_cast<double>(computing.size());
}

}  // namespace

double mixed_gradients(const CoarseCluster& cluster, const Computing& computing) {
  const auto workers = static_cast<double>(computing.front().mean.size());
  if (cluster.topology != Topology::kServer) {
    return workers;
  }
  switch (cluster.barrier.kind) {
    case BarrierKind::kCutoff:
    case BarrierKind::kRestarting:
      return cluster.barrier.cutoff;
    case BarrierKind::kBestCutoff:
      return best_cutoff(cluster.served, computing, Heuristics::kWith);
    case BarrierKind::kNone:
      return 1.0 + free_staleness(computing);
    case BarrierKind::kDistinct:
    case BarrierKind::kBoundedStaleness:
    case BarrierKind::kLateOnes:
    case BarrierKind::kChanging:
      break;
  }
  return workers;
}

}  // namespace outpace::throughput
