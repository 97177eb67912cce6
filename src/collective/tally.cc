#include "collective/tally.h"

#include <algorithm>

#include "base/check.h"

namespace outpace::collective {

Tally::Tally(Topology topology, std::uint32_t workers, std::uint64_t examples)
    : topology_(topology), examples_(examples), reported_(workers) {
  CHECK(workers >= 1 && examples >= 1);
  statistics_.workers.resize(workers);
}

void Tally::joined(WorkerId worker, const std::string& host) {
  server::WorkerStatistics& counts = statistics_.workers.at(index(worker));
  counts.live = true;
  ++counts.incarnations;
  counts.host = host;
}

void Tally::left(WorkerId worker) {
  statistics_.workers.at(index(worker)).live = false;
}

std::uint32_t Tally::live() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(statistics_.workers, [](const auto& worker) { return worker.live; }));
}

void Tally::gradient(Time now, const protocol::Push& report, float runtime) {
  const WorkerId worker = report.id.worker;
  server::WorkerStatistics& counts = statistics_.workers.at(index(worker));
  ++counts.accepted;
  counts.examples_applied += report.examples;
  counts.compute_seconds += report.compute_seconds;
  counts.runtimes.push_back(runtime);
  // The same smoothing as the coordinator's.
  const double fresh = statistics_.gradients_applied == 0 ? 1.0 : 0.02;
  statistics_.training_loss += fresh * (report.loss - statistics_.training_loss);
  ++statistics_.gradients_applied;
  statistics_.examples_applied += report.examples;
  if (topology_ == Topology::kGossip) {
    ++statistics_.updates;
    statistics_.last_commit = now;
    return;
  }
  // A ring has staleness: always 0, since its gradients are of the newest weights.
  statistics_.staleness.resize(1);
  ++statistics_.staleness.front();
  reported_[index(worker)] = number(report.id.sequence);
  const std::uint64_t complete = *std::ranges::min_element(reported_);
  if (complete > statistics_.updates) {
    statistics_.updates = complete;
    statistics_.last_commit = now;
  }
  statistics_.epochs_complete = statistics_.examples_applied / examples_;
  const std::uint64_t used = statistics_.epochs_complete > 0 ? 1 : 0;  // batch_plan.h
  statistics_.examples_used_per_epoch_min = used;
  statistics_.examples_used_per_epoch_max = used;
}

void Tally::finish() {
  if (topology_ == Topology::kRing) {
    statistics_.updates = *std::ranges::max_element(reported_);
  }
}

}  // namespace outpace::collective
