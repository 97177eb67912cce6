#include "server/shard.h"

#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/seeded_bug.h"
#include "update/gradient.h"

namespace outpace::server {

Shard::Shard(const ShardOptions& options, std::vector<float> weights)
    : options_(options),
      optimizer_(update::make_optimizer(options.optimizer, weights.size())),
      aggregate_(weights.size(), options.reduce, !optimizer_->scale_invariant()),
      weights_(std::move(weights)) {}

bool Shard::hold(WorkerId worker, std::vector<float> gradient) {
  CHECK(gradient.size() == weights_.size());
  const double squared_norm = update::squared_norm(gradient);
  if (!std::isfinite(squared_norm)) {
    if (SEEDED_BUG("broken_part_used")) {
      for (std::size_t i = 0; i < weights_.size() && std::isfinite(gradient[i]); ++i) {
        weights_[i] -= gradient[i];
      }
    }
    return false;
  }
  if (index(worker) >= held_.size()) {
    held_.resize(index(worker) + 1);
  }
  held_[index(worker)] = {std::move(gradient), squared_norm};
  return true;
}

void Shard::take_up(const TakeUp& taken) {
  Held held = std::move(held_.at(index(taken.worker)));
  CHECK(held.gradient.size() == weights_.size());
  if (options_.clip_norm > 0.0 &&
      update::clip(held.gradient, held.squared_norm, options_.clip_norm)) {
    ++clipped_;
  }
  (void)aggregate_.add({.worker = taken.worker,
                        .release = taken.sequence,
                        .weight = taken.weight,
                        .examples = taken.examples},
                       std::move(held.gradient));
}

void Shard::forget(WorkerId worker) {
  if (index(worker) < held_.size()) {
    held_[index(worker)].gradient = {};
  }
}

void Shard::step(const StepWeights& step) {
  const double mean_weight = aggregate_.mean_weight();
  optimizer_->step(
      {.rate = step.rate, .mean_weight = mean_weight, .weight_decay = options_.weight_decay},
      aggregate_.mean(),
      weights_);
  aggregate_.clear();
}

}  // namespace outpace::server
