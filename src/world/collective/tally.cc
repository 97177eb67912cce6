#include "collective/tally.h"

#include <algorithm>

#include "base/check.h"

namespace outpace::collective {

Tally::Tally(Topology topology, const peer::BatchPlanOptions& batches)
    : topology_(topology), examples_(batches.examples), plan_(batches), reported_(batches.workers) {
  statistics_.workers.resize(batches.workers);
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

void Tally::gradient(Time now, const protocol::Push& report, const Reported& told) {
  const WorkerId worker = report.id.worker;
  server::WorkerStatistics& counts = statistics_.workers.at(index(worker));
  counts.compute_seconds += report.compute_seconds;
  counts.runtimes.push_back(told.runtime);
  // Workers of a ring send each other gradients, and those of a gossip weights.
  protocol::Traffic& traffic = statistics_.traffic;
  protocol::Carried& carried = topology_ == Topology::kRing ? traffic.gradients : traffic.weights;
  carried = carried + told.carried;
  statistics_.count_loss(report.loss);
  if (topology_ == Topology::kGossip) {
    ++counts.accepted;
    counts.examples_applied += report.examples;
    ++statistics_.gradients_applied;
    statistics_.examples_applied += report.examples;
    ++statistics_.updates;
    statistics_.last_commit = now;
    return;
  }
  reported_[index(worker)] = number(report.id.sequence);
  std::uint64_t applied_by_all = number(report.id.sequence);
  for (std::size_t i = 0; i < reported_.size(); ++i) {
    if (statistics_.workers[i].live) {
      applied_by_all = std::min(applied_by_all, reported_[i]);
    }
  }
  last_report_ = now;
  count_updates(now, applied_by_all);
}

void Tally::formed(Time now, Version version, const std::vector<WorkerId>& members) {
  if (topology_ == Topology::kRing) {
    count_updates(now, count(version));
    plan_.set_workers(members);
    for (std::uint64_t& reported : reported_) {
      reported = std::min(reported, count(version));  // The rest is made again.
    }
    for (const WorkerId member : members) {
      reported_.at(index(member)) = count(version);  // Also a newcomer has it, or will.
    }
  }
}

void Tally::count_updates(Time now, std::uint64_t updates) {
  while (statistics_.updates < updates) {
    const auto made = plan_.next(WorkerId{0});
    if (!made) {
      break;
    }
    for (std::size_t i = 0; i < made->shares.size(); ++i) {
      if (made->shares[i] > 0) {
        server::WorkerStatistics& counts = statistics_.workers.at(index(plan_.workers()[i]));
        ++counts.accepted;
        counts.examples_applied += made->shares[i];
        ++statistics_.gradients_applied;
      }
    }
    statistics_.examples_applied += made->examples;
    ++statistics_.updates;
    statistics_.last_commit = now;
  }
  // A ring has staleness: always 0, since its gradients are of the newest weights.
  statistics_.staleness.assign(1, statistics_.gradients_applied);
  statistics_.epochs_complete = statistics_.examples_applied / examples_;
  const std::uint64_t used = statistics_.epochs_complete > 0 ? 1 : 0;  // peer/batch_plan.h
  statistics_.examples_used_per_epoch_min = used;
  statistics_.examples_used_per_epoch_max = used;
}

void Tally::finish() {
  if (topology_ == Topology::kRing) {
    count_updates(last_report_, *std::ranges::max_element(reported_));
  }
}

}  // namespace outpace::collective
