#include "policy/progress.h"

#include <algorithm>
#include <cmath>

namespace outpace::policy {
namespace {

struct Pace {
  double mean = 0.0;
  double longest = 0.0;
};

Pace pace_of(const Paces& paces, std::uint32_t worker) {
  Pace pace;
  for (std::uint32_t i = 0; i < paces.rows(); ++i) {
    const double seconds = paces.row(i)[worker];
    pace.mean += seconds / paces.rows();
    pace.longest = std::max(pace.longest, seconds);
  }
  return pace;
}

double worth(double gradients, double phi) {
  return gradients / (phi + gradients);
}

// Gradients a second, where nobody waits.
double all_by_themselves(const Paces& paces) {
  double gradients = 0.0;
  for (std::uint32_t worker = 0; worker < paces.workers; ++worker) {
    gradients += 1.0 / pace_of(paces, worker).mean;
  }
  return gradients;
}

// sqrt(tau_max tau_mean), where this many gradients come a second and none is staler than that.
double root(const Paces& paces, double gradients, double stalest) {
  double most = 0.0;
  for (std::uint32_t worker = 0; worker < paces.workers; ++worker) {
    const Pace pace = pace_of(paces, worker);
    most = std::max(most, (gradients - 1.0 / pace.mean) * pace.longest);
  }
  return std::sqrt(std::min(most, stalest) * (paces.workers - 1.0));
}

}  // namespace

double Progress::of_all(const Paces& paces, double phi) {
  double seconds = 0.0;
  for (std::uint32_t i = 0; i < paces.rows(); ++i) {
    seconds += *std::max_element(paces.row(i).begin(), paces.row(i).end());
  }
  return worth(paces.workers, phi) * paces.rows() / seconds;
}

double Progress::by_deadline(const Paces& paces, double phi, Goal goal) {
  arrivals_.clear();
  for (std::uint32_t i = 0; i < paces.rows(); ++i) {
    for (std::uint32_t worker = 0; worker < paces.workers; ++worker) {
      arrivals_.push_back({.seconds = paces.row(i)[worker],
                           .row = i,
                           .size = paces.size(std::size_t{i} * paces.workers + worker)});
    }
  }
  std::sort(arrivals_.begin(), arrivals_.end(), [](const Arrival& a, const Arrival& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.row < b.row;
  });
  by_row_.assign(paces.rows(), {});
  double waited = 0.0;  // By rounds that are complete before the deadline.
  std::uint32_t waiting = paces.rows();
  const double least = paces.rows() * (goal == Goal::kProgress ? std::min(2U, paces.workers) : 1U);
  double gradients = 0.0;
  double progress = 0.0;
  double best = 0.0;
  double best_progress = 0.0;
  for (const Arrival& arrival : arrivals_) {
    Row& row = by_row_[arrival.row];
    const double before = row.workers == 0 ? 0.0 : worth(row.gradients, phi);
    row.gradients += arrival.size;
    progress += worth(row.gradients, phi) - before;
    gradients += arrival.size;
    if (++row.workers == paces.workers) {
      waited += arrival.seconds;
      --waiting;
    }
    const double seconds = waited + waiting * static_cast<double>(arrival.seconds);
    const double rate = (goal == Goal::kGradients ? gradients : progress) / seconds;
    if (rate > best && gradients >= least) {
      best = rate;
      best_progress = progress / seconds;
    }
  }
  return best_progress;
}

double Progress::of_each(const Paces& paces, double phi, double stalest) {
  const double gradients = all_by_themselves(paces);
  return gradients / (phi + 1.0 + root(paces, gradients, stalest));
}

double Progress::mixed_gradients(std::span<const Stale> by_staleness, std::uint64_t updates) {
  double all = 0.0;
  double stale = 0.0;
  double sum = 0.0;
  for (const Stale& some : by_staleness) {
    const auto gradients = static_cast<double>(some.gradients);
    all += gradients;
    stale += some.staleness > 0 ? gradients : 0.0;
    sum += gradients * static_cast<double>(some.staleness);
  }
  const auto made = static_cast<double>(updates);
  if (stale == 0.0) {
    return all / made;
  }
  double most = 0.0;
  double seen = 0.0;
  for (const Stale& some : by_staleness) {
    if (some.staleness > 0 && seen < 0.99 * stale) {
      seen += static_cast<double>(some.gradients);
      most = static_cast<double>(some.staleness);
    }
  }
  const bool alone = stale < made;
  const double with_fresh = alone ? (all - stale) / (made - stale) : all / made;
  const double with_stale = alone ? 1.0 : all / made;
  const double root = std::sqrt(most * sum / stale);
  return ((all - stale) * with_fresh + stale * with_stale * (1.0 + root)) / all;
}

double Progress::in_step(const Paces& paces, double phi, std::uint32_t ahead) {
  double slowest = 0.0;
  for (std::uint32_t worker = 0; worker < paces.workers; ++worker) {
    slowest = std::max(slowest, pace_of(paces, worker).mean);
  }
  const double stalest = (1.0 + ahead) * (paces.workers - 1.0);
  return paces.workers / slowest / (phi + 1.0 + root(paces, all_by_themselves(paces), stalest));
}

}  // namespace outpace::policy
