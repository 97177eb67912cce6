#include "collective/stepper.h"

#include <numeric>
#include <utility>

namespace outpace::collective {
namespace {

std::size_t total(const std::vector<std::size_t>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::size_t{0});
}

}  // namespace

Stepper::Stepper(const StepRule& rule, std::vector<std::size_t> tensors)
    : rule_(rule), optimizer_(update::make_optimizer(rule.optimizer, total(tensors), tensors)) {}

void Stepper::step(const Update& update, std::span<const float> mean, std::span<float> weights) {
  optimizer_->step({.rate = rule_.rate * rule_.schedule.factor(update.applied) *
                            update::rate_scale(rule_.rate_scale, update.examples, update.nominal),
                    .mean_weight = 1.0,
                    .weight_decay = rule_.weight_decay},
                   mean,
                   weights);
}

}  // namespace outpace::collective
