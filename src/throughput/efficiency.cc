#include "throughput/efficiency.h"

#include <cmath>

#include "base/check.h"

namespace outpace::throughput {

double efficiency(double noise_scale, const Batches& batches) {
  CHECK(std::isfinite(noise_scale) && noise_scale > 0.0);
  CHECK(batches.mixed > 0.0 && batches.first > 0.0);
  return (noise_scale + batches.first) / (noise_scale + batches.mixed);
}

double mixed_gradients(const Question& question, const Computing& computing) {
  const auto workers = static_cast<double>(computing.front().mean.size());
  if (question.topology != Topology::kServer) {
    return workers;
  }
  switch (question.coordination.waits) {
    case Waits::kCutoff:
    case Waits::kRestarting:
      return question.coordination.cutoff;
    case Waits::kBestCutoff:
      return best_cutoff(question.served, computing, Heuristics::kWith);
    case Waits::kNobody:
    case Waits::kSlowest:
      break;
  }
  return workers;
}

}  // namespace outpace::throughput
