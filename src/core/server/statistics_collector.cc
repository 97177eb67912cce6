#include "server/statistics_collector.h"

#include <vector>

namespace outpace::server {
namespace {}  // namespace

void StatisticsCollector::joined(WorkerId worker, const std::string& host) {
  if (index(worker) >= statistics_.workers.size()) {
    statistics_.workers.resize(index(worker) + 1);
  }
  WorkerStatistics& counts = of(worker);
  counts.host = host;
  counts.live = true;
  ++counts.incarnations;
  counts.runtimes.reserve(kCacheLine / sizeof(float));
}

void StatisticsCollector::turned_away(WorkerId worker, update::Judgement judgement) {
  WorkerStatistics& counts = of(worker);
  const bool filtered = update::is_filtered(judgement);
  ++(filtered ? counts.filtered : counts.refused);
  ++(filtered ? statistics_.gradients_filtered : statistics_.gradients_refused);
  counts.too_often += judgement == update::Judgement::kTooOften ? 1 : 0;
}

void StatisticsCollector::updated(Time now, std::span<const AppliedGradient> gradients) {
  for (const AppliedGradient& gradient : gradients) {
    WorkerStatistics& counts = of(gradient.worker);
    ++counts.accepted;
    counts.partial += gradient.partial ? 1 : 0;
    counts.examples_applied += gradient.examples;
    statistics_.examples_applied += gradient.examples;
    if (gradient.staleness >= statistics_.staleness.size()) {
      statistics_.staleness.resize(gradient.staleness + 1);
    }
    ++statistics_.staleness[gradient.staleness];
    statistics_.count_loss(gradient.loss);
    ++statistics_.gradients_applied;
  }
  ++statistics_.updates;
  statistics_.last_commit = now;
}

}  // namespace outpace::server
