// The learning rate of each update: the base rate, times the schedule at the examples applied by
// then, times the scale for an update of more or fewer examples than usual.

#pragma once

#include <cstdint>

#include "update/schedule.h"

namespace outpace::server {

struct LearningRate {
  double base = 0.1;
  update::Schedule schedule;
  update::RateScale scale = update::RateScale::kNone;
  std::uint64_t nominal_examples = 1;  // In an update when all workers live; at least 1.

  // For an update of `examples` after `before` applied examples.
  [[nodiscard]] double of_update(std::uint64_t examples, std::uint64_t before) const {
    return base * schedule.factor(before + examples) *
           update::rate_scale(scale, examples, nominal_examples);
  }
};

}  // namespace outpace::server
