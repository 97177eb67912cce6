#include "update/kardam.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/median.h"
#include "update/gradient.h"

namespace outpace::update {
namespace {

constexpr double kTiny = 1e-9;  // Weights that have not moved divide by this.

// Number of workers that may be wrong: at most f, and less than a third.
std::size_t wrong_among(std::size_t f, std::size_t workers) {
  return std::min(f, (workers - 1) / 3);
}

}  // namespace

void Kardam::released(WorkerId worker, const SharedWeights& weights) {
  CHECK(weights != nullptr && weights->size() == size_);
  if (index(worker) >= workers_.size()) {
    workers_.resize(index(worker) + 1);
  }
  workers_[index(worker)].released = weights;
}

Judgement Kardam::judge(WorkerId worker, std::span<const float> gradient, std::uint32_t computing) {
  CHECK(gradient.size() == size_ && index(worker) < workers_.size());
  Worker& of = workers_[index(worker)];
  CHECK(of.released != nullptr);
  measure(of, gradient);
  of.weights = of.released;
  of.gradient.assign(gradient.begin(), gradient.end());
  const double judged = options_.of_server ? server_coefficient(gradient) : of.coefficient;
  const double bound = quantile();
  if (judged > bound) {
    return Judgement::kTooSteep;
  }
  if (bound == kUnknown && !std::isinf(options_.within)) {
    const Judgement length = by_length(gradient);
    if (length != Judgement::kSound) {
      return length;
    }
  }
  return is_recent(worker, computing) ? Judgement::kTooOften : Judgement::kSound;
}

void Kardam::measure(Worker& worker, std::span<const float> gradient) {
  if (worker.weights == nullptr) {
    return;
  }
  const double change = std::sqrt(squared_distance(gradient, worker.gradient));
  const double way = worker.released == worker.weights
                         ? 0.0
                         : std::sqrt(squared_distance(*worker.released, *worker.weights));
  worker.way = way > 0.0 ? way : worker.way;
  const double usual = usual_way();
  const double counts = std::isinf(options_.within)
                            ? way
                            : std::clamp(way, usual / options_.within, usual * options_.within);
  const double coefficient = change / (counts + kTiny);
  worker.coefficient = way > 0.0 ? coefficient : std::max(coefficient, worker.coefficient);
}

double Kardam::usual_way() {
  all_.clear();
  for (const Worker& worker : workers_) {
    if (worker.released != nullptr && worker.way > 0.0) {
      all_.push_back(worker.way);
    }
  }
  return all_.empty() ? 0.0 : lower_median(all_);
}

Judgement Kardam::by_length(std::span<const float> gradient) {
  std::size_t there = 0;
  all_.clear();
  for (const Worker& worker : workers_) {
    there += worker.released != nullptr ? 1U : 0U;
    if (worker.released != nullptr && worker.weights != nullptr) {
      all_.push_back(std::sqrt(squared_norm(worker.gradient)));
    }
  }
  if (all_.size() < std::min<std::size_t>(2 * std::size_t{options_.f}, there / 2) + 1) {
    return Judgement::kTooEarly;
  }
  return std::sqrt(squared_norm(gradient)) > options_.within * lower_median(all_)
             ? Judgement::kTooLong
             : Judgement::kSound;
}

double Kardam::server_coefficient(std::span<const float> gradient) const {
  return last_.empty() ? 0.0 : std::sqrt(squared_distance(gradient, last_)) / (step_ + kTiny);
}

double Kardam::quantile() {
  const bool as_in_the_paper = std::isinf(options_.within);
  std::size_t there = 0;
  all_.clear();
  for (const Worker& worker : workers_) {
    if (worker.released != nullptr) {
      ++there;
      if (as_in_the_paper || worker.coefficient != kUnknown) {
        all_.push_back(worker.coefficient);
      }
    }
  }
  const std::size_t wrong = wrong_among(options_.f, there);
  if (!as_in_the_paper && all_.size() < 2 * wrong + 1) {
    return kUnknown;
  }
  const std::size_t right = all_.size() - wrong;
  const auto at = all_.begin() + static_cast<std::ptrdiff_t>(right - 1);
  std::nth_element(all_.begin(), at, all_.end());
  return *at;
}

bool Kardam::is_recent(WorkerId worker, std::uint32_t computing) const {
  const std::size_t window = 2 * wrong_among(options_.f, computing);
  const std::size_t looked_at = std::min(window, recent_.size());
  return std::find(recent_.rbegin(),
                   recent_.rbegin() + static_cast<std::ptrdiff_t>(looked_at),
                   worker) != recent_.rbegin() + static_cast<std::ptrdiff_t>(looked_at);
}

void Kardam::accepted(WorkerId worker) {
  recent_.push_back(worker);
  if (recent_.size() > std::size_t{2} * options_.f) {
    recent_.pop_front();
  }
  if (options_.of_server) {
    last_ = workers_.at(index(worker)).gradient;
  }
}

void Kardam::stepped(std::span<const float> before, std::span<const float> after) {
  step_ = std::sqrt(squared_distance(before, after));
}

void Kardam::forget(WorkerId worker) {
  if (index(worker) < workers_.size()) {
    workers_[index(worker)] = {};
  }
}

}  // namespace outpace::update
