#include "throughput/cluster_search.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace outpace::throughput {
namespace {

class PlanSearch {
 public:
  PlanSearch(const std::vector<Candidate>& candidates, const PlanOptions& options)
      : candidates_(candidates), options_(options), verified_(candidates.size(), false) {
    values_.reserve(candidates.size());
    for (const Candidate& candidate : candidates) {
      CHECK(candidate.cost > 0.0);
      values_.push_back(candidate.is_guessed ? candidate.guess * (1.0 + options.margin)
                                             : std::numeric_limits<double>::infinity());
    }
  }

  Plan run(const std::function<double(std::size_t)>& verify) {
    std::size_t count = 0;
    std::optional<std::size_t> next = unverified();
    while (next && count < options_.verified_most) {
      values_[*next] = verify(*next);
      verified_[*next] = true;
      ++count;
      learn_margin(*next);
      next = unverified();
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!verified_[i]) {
        values_[i] = candidates_[i].is_guessed ? candidates_[i].guess : 0.0;
      }
    }
    return result(count);
  }

 private:
  // The guesses of the others of its kind are as far off as this one's was.
  void learn_margin(std::size_t from) {
    const Candidate& known = candidates_[from];
    if (!known.is_guessed || known.guess <= 0.0) {
      return;
    }
    const double factor = values_[from] / known.guess;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!verified_[i] && candidates_[i].is_guessed && candidates_[i].kind == known.kind) {
        values_[i] = std::max(values_[i], factor * candidates_[i].guess);
      }
    }
  }

  [[nodiscard]] bool reaches(std::size_t i) const {
    return !options_.target || values_[i] >= *options_.target;
  }

  [[nodiscard]] double for_cost(std::size_t i) const { return values_[i] / candidates_[i].cost; }

  [[nodiscard]] bool is_better(std::size_t a, std::size_t b) const {
    if (reaches(a) != reaches(b)) {
      return reaches(a);
    }
    if (options_.rank == Rank::kForCost && reaches(a) && for_cost(a) != for_cost(b)) {
      return for_cost(a) > for_cost(b);
    }
    const bool cheapest = options_.rank == Rank::kMost && options_.target && reaches(a);
    if (cheapest && candidates_[a].cost != candidates_[b].cost) {
      return candidates_[a].cost < candidates_[b].cost;
    }
    if (values_[a] != values_[b]) {
      return values_[a] > values_[b];
    }
    return candidates_[a].cost < candidates_[b].cost;
  }

  // The candidates that no other dominates, the cheapest first; of equal ones the first.
  [[nodiscard]] std::vector<std::size_t> unbeaten() const {
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return candidates_[a].cost != candidates_[b].cost ? candidates_[a].cost < candidates_[b].cost
                                                        : values_[a] > values_[b];
    });
    std::vector<std::size_t> front;
    for (const std::size_t i : order) {
      if (front.empty() || values_[i] > values_[front.back()]) {
        front.push_back(i);
      }
    }
    return front;
  }

  struct Ranked {
    std::vector<std::size_t> best;
    std::optional<std::size_t> nearly;
  };

  [[nodiscard]] Ranked ranked() const {
    Ranked found{.best = unbeaten(), .nearly = {}};
    std::vector<std::size_t> cheapest_first = found.best;
    std::stable_sort(found.best.begin(), found.best.end(), [this](std::size_t a, std::size_t b) {
      return is_better(a, b);
    });
    if (!found.best.empty()) {
      found.nearly = nearly(found.best.front(), cheapest_first);
    }
    found.best.resize(std::min(found.best.size(), options_.top));
    return found;
  }

  [[nodiscard]] std::optional<std::size_t> nearly(
      std::size_t first, const std::vector<std::size_t>& cheapest_first) const {
    constexpr double kNearlyAsMuch = 0.95;
    constexpr double kLess = 0.9;
    for (const std::size_t i : cheapest_first) {
      if (values_[i] >= kNearlyAsMuch * values_[first] && reaches(i) == reaches(first)) {
        return candidates_[i].cost <= kLess * candidates_[first].cost ? std::optional(i)
                                                                      : std::nullopt;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> unverified() const {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!verified_[i] && !candidates_[i].is_guessed) {
        return i;
      }
    }
    const Ranked ranked = this->ranked();
    for (const std::size_t i : ranked.best) {
      if (!verified_[i]) {
        return i;
      }
    }
    return ranked.nearly && !verified_[*ranked.nearly] ? ranked.nearly : std::nullopt;
  }

  [[nodiscard]] Plan result(std::size_t count) const {
    const auto planned = [this](std::size_t i) { return Planned{i, values_[i], verified_[i]}; };
    const Ranked found = ranked();
    Plan plan{.best = {}, .nearly = {}, .verified = count};
    plan.best.reserve(found.best.size());
    for (const std::size_t i : found.best) {
      plan.best.push_back(planned(i));
    }
    if (found.nearly) {
      plan.nearly = planned(*found.nearly);
    }
    return plan;
  }

  const std::vector<Candidate>& candidates_;
  const PlanOptions options_;
  std::vector<double> values_;
  std::vector<bool> verified_;
};

}  // namespace

Plan search_plan(const std::vector<Candidate>& candidates,
                 const std::function<double(std::size_t)>& verify,
                 const PlanOptions& options) {
  CHECK(options.top >= 1);
  return PlanSearch(candidates, options).run(verify);
}

}  // namespace outpace::throughput
