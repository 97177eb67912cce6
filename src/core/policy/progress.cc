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
    for (const float seconds : paces.row(i)) {
      arrivals_.push_back({seconds, i});
    }
  }
  std::sort(arrivals_.begin(), arrivals_.end(), [](const Arrival& a, const Arrival& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.row < b.row;
  });
  by_row_.assign(paces.rows(), 0);
  double waited = 0.0;  // By rounds that are complete before the deadline.
  std::uint32_t waiting = paces.rows();
  const double least = paces.rows() * (goal == Goal::kProgress ? std::min(2U, paces.workers) : 1U);
  double gradients = 0.0;
  double progress = 0.0;
  double best = 0.0;
  double best_progress = 0.0;
  for (const Arrival& arrival : arrivals_) {
    std::uint32_t& here = by_row_[arrival.row];
    progress += worth(here + 1.0, phi) - (here == 0 ? 0.0 : worth(here, phi));
    gradients += 1.0;
    if (++here == paces.workers) {
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
  double gradients = 0.0;  // A second.
  for (std::uint32_t worker = 0; worker < paces.workers; ++worker) {
    gradients += 1.0 / pace_of(paces, worker).mean;
  }
  double most = 0.0;
  for (std::uint32_t worker = 0; worker < paces.workers; ++worker) {
    const Pace pace = pace_of(paces, worker);
    most = std::max(most, (gradients - 1.0 / pace.mean) * pace.longest);
  }
  const double mean = paces.workers - 1.0;
  return gradients / (phi + 1.0 + std::sqrt(std::min(most, stalest) * mean));
}

double Progress::in_step(const Paces& paces, double phi, std::uint32_t ahead) {
  double slowest = 0.0;
  for (std::uint32_t worker = 0; worker < paces.workers; ++worker) {
    slowest = std::max(slowest, pace_of(paces, worker).mean);
  }
  const double others = paces.workers - 1.0;
  const double gradients = paces.workers / slowest;
  return gradients / (phi + 1.0 + std::sqrt(others * (1.0 + ahead) * others));
}

}  // namespace outpace::policy
