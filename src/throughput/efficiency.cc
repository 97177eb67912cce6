#include "throughput/efficiency.h"

#include <cmath>

#include "base/check.h"

namespace outpace::throughput {

double efficiency(double noise_scale, const Batches& batches) {
  CHECK(std::isfinite(noise_scale) && noise_scale > 0.0);
  CHECK(batches.mixed > 0.0 && batches.first > 0.0);
  return (noise_scale + batches.first) / (noise_scale + batches.mixed);
}

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
    case BarrierKind::kBoundedStaleness:
      break;
  }
  return workers;
}

}  // namespace outpace::throughput
