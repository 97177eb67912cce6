#include "throughput/computing.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/rng.h"

namespace outpace::throughput {
namespace {

template <typename Change>
void for_all(Period& period, const Change& change) {
  for (std::vector<double>& row : period.draws) {
    std::for_each(row.begin(), row.end(), change);
  }
  std::for_each(period.mean.begin(), period.mean.end(), change);
}

}  // namespace

Computing draw_computing(
    std::size_t periods,
    std::size_t draws,
    std::uint32_t workers,
    const std::function<double(std::size_t, std::size_t, std::uint32_t)>& draw) {
  CHECK(periods >= 1 && draws >= 1 && workers >= 1);
  Computing computing(periods);
  for (std::size_t p = 0; p < periods; ++p) {
    Period& period = computing[p];
    period.mean.assign(workers, 0.0);
    period.draws.assign(draws, std::vector<double>(workers));
    for (std::size_t i = 0; i < draws; ++i) {
      std::vector<double>& row = period.draws[i];
      for (std::uint32_t worker = 0; worker < workers; ++worker) {
        row[worker] = draw(p, i, worker);
        period.mean[worker] += row[worker] / static_cast<double>(draws);
      }
    }
  }
  return computing;
}

Computing with_deviations(Computing computing, double part) {
  for (Period& period : computing) {
    const double mean = std::accumulate(period.mean.begin(), period.mean.end(), 0.0) /
                        static_cast<double>(period.mean.size());
    for_all(period, [&](double& seconds) { seconds = mean + part * (seconds - mean); });
  }
  return computing;
}

namespace {

Period in_phases(const Period& period, std::uint32_t steps, Rng& rng) {
  Period phases{.mean = period.mean, .draws = period.draws};
  const std::size_t draws = period.draws.size();
  for (std::size_t worker = 0; worker < period.mean.size(); ++worker) {
    phases.mean[worker] *= steps;
    double sum = 0.0;
    for (std::vector<double>& row : phases.draws) {
      row[worker] = 0.0;
      for (std::uint32_t step = 0; step < steps; ++step) {
        row[worker] += period.draws[rng.below(draws)][worker];
      }
      sum += row[worker];
    }
    // The mean is that of all draws.
    const double part = sum > 0.0 ? phases.mean[worker] * static_cast<double>(draws) / sum : 1.0;
    for (std::vector<double>& row : phases.draws) {
      row[worker] *= part;
    }
  }
  return phases;
}

}  // namespace

Computing in_phases(const Computing& computing, std::uint32_t steps, std::uint64_t seed) {
  Rng rng(seed, steps);
  Computing phases;
  phases.reserve(computing.size());
  for (const Period& period : computing) {
    phases.push_back(in_phases(period, steps, rng));
  }
  return phases;
}

Computing scaled(Computing computing, double part) {
  for (Period& period : computing) {
    for_all(period, [part](double& seconds) { seconds *= part; });
  }
  return computing;
}

}  // namespace outpace::throughput
