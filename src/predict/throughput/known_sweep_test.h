// A sweep with numbers made up, for tests of how sweeps are shown.

#pragma once

#include "throughput/sweep.h"

namespace outpace::throughput {

// sync is saturated with two workers; both models agree.
inline Sweep known_sweep() {
  Sweep sweep;
  const double rates[] = {100.0, 196.0, 200.0, 200.0};
  std::uint32_t workers = 1;
  for (const double rate : rates) {
    for (const auto model : {job::PredictionModel::kFine, job::PredictionModel::kCoarse}) {
      sweep.predictions.push_back({.model = model,
                                   .workers = workers,
                                   .policy = "sync",
                                   .topology = Topology::kServer,
                                   .shards = 1,
                                   .rate = {rate, rate - 5.0, rate + 5.0},
                                   .bottleneck = Bottleneck::kLink});
    }
    sweep.ideal.push_back({workers, 100.0 * workers});
    workers *= 2;
  }
  sweep.predictions.push_back({.model = job::PredictionModel::kCoarse,
                               .workers = 1,
                               .policy = "",
                               .topology = Topology::kRing,
                               .shards = 1,
                               .rate = {90.0, 80.0, 95.0},
                               .bottleneck = Bottleneck::kComputing});
  return sweep;
}

}  // namespace outpace::throughput
