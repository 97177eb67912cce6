// For tests: the summary of a run of eight workers, of which worker 6 is four times slower and
// worker 7 twice.

#pragma once

#include <cstddef>

#include "record/summary.h"

namespace outpace::record {

inline server::WorkerStatistics example_worker(float seconds, std::uint64_t iterations) {
  server::WorkerStatistics worker;
  worker.host = "localhost";
  worker.live = true;
  worker.incarnations = 1;
  worker.accepted = iterations;
  worker.examples_applied = iterations * 32;
  worker.runtimes.assign(iterations, seconds);
  return worker;
}

inline Summary example_summary() {
  Summary summary{.policy = "backup:cutoff=6",
                  .staleness = "none",
                  .optimizer = "sgd",
                  .lr = 0.1,
                  .network = "mlp",
                  .data = "fashion-mnist",
                  .workers = 8,
                  .seconds = 12.5,
                  .statistics = {},
                  .evaluations = {{.version = Version{500},
                                   .committed = Time{from_seconds(6.5)},
                                   .examples = 96'000,
                                   .accuracy = 0.8125,
                                   .loss = 0.5}},
                  .target = 0.8,
                  .seconds_to_target = 6.5,
                  .final_accuracy = 0.8412,
                  .final_loss = 0.4375,
                  .why_ended = "1000 updates"};
  server::Statistics& counts = summary.statistics;
  for (std::size_t worker = 0; worker < 6; ++worker) {
    counts.workers.push_back(example_worker(0.02F, 900));
  }
  counts.workers.push_back(example_worker(0.08F, 100));
  counts.workers.push_back(example_worker(0.04F, 500));
  counts.workers[6].dropped = 150;
  counts.workers[7].cancelled = 3;
  counts.updates = 1000;
  counts.gradients_applied = 6000;
  counts.gradients_dropped = 150;
  counts.gradients_cancelled = 3;
  counts.examples_applied = 192'000;
  counts.training_loss = 0.375;
  counts.staleness = {5900, 0, 100};
  counts.epochs_complete = 3;
  counts.examples_used_per_epoch_min = 1;
  counts.examples_used_per_epoch_max = 1;
  return summary;
}

}  // namespace outpace::record
