#include "record/stragglers.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "record/quantiles.h"

namespace outpace::record {
namespace {

// A worker's first runtimes include its start-up, so with fewer it is not judged during the run.
constexpr std::size_t kJudgedFrom = 3;

struct WorkerMedian {
  WorkerId worker;
  float seconds;
};

std::vector<Straggler> slower_than_most(std::span<const WorkerMedian> medians) {
  std::vector<float> seconds;
  seconds.reserve(medians.size());
  for (const WorkerMedian& median : medians) {
    seconds.push_back(median.seconds);
  }
  const std::optional<double> typical = quantile(seconds, 0.5);
  std::vector<Straggler> stragglers;
  for (const WorkerMedian& median : medians) {
    if (static_cast<double>(median.seconds) > kSlowFactor * *typical && *typical > 0.0) {
      stragglers.push_back(
          {.worker = median.worker, .factor = static_cast<double>(median.seconds) / *typical});
    }
  }
  std::ranges::stable_sort(stragglers, std::ranges::greater{}, &Straggler::factor);
  return stragglers;
}

}  // namespace

std::vector<Straggler> stragglers_now(const server::Statistics& statistics) {
  std::vector<WorkerMedian> medians;
  for (std::size_t worker = 0; worker < statistics.workers.size(); ++worker) {
    const server::WorkerStatistics& counts = statistics.workers[worker];
    if (counts.live && counts.runtimes.size() >= kJudgedFrom) {
      const std::span<const float> all(counts.runtimes);
      const auto recent = all.last(std::min(all.size(), kRecentRuntimes));
      medians.push_back({.worker = WorkerId{static_cast<std::uint32_t>(worker)},
                         .seconds = static_cast<float>(*quantile(recent, 0.5))});
    }
  }
  return slower_than_most(medians);
}

std::vector<Straggler> stragglers_overall(const server::Statistics& statistics) {
  std::vector<WorkerMedian> medians;
  for (std::size_t worker = 0; worker < statistics.workers.size(); ++worker) {
    if (const auto median = quantile(statistics.workers[worker].runtimes, 0.5)) {
      medians.push_back({.worker = WorkerId{static_cast<std::uint32_t>(worker)},
                         .seconds = static_cast<float>(*median)});
    }
  }
  return slower_than_most(medians);
}

std::string to_words(const Straggler& straggler) {
  return fmt::format("worker {} ({:.1f}x)", index(straggler.worker), straggler.factor);
}

}  // namespace outpace::record
