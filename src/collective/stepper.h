// What a worker without a server does with a gradient: the step that the server's shard would do.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/spec.h"
#include "update/optimizer.h"
#include "update/schedule.h"

namespace outpace::collective {

struct StepRule {
  Spec optimizer;
  double rate = 0.1;  // Before schedule and scale.
  update::Schedule schedule;
  update::RateScale rate_scale = update::RateScale::kNone;
  double weight_decay = 0.0;
};

class Stepper {
 public:
  // `tensors`: the sizes of the network's tensors, in their order. Throws a usage error if the
  // optimizer's spec is wrong.
  Stepper(const StepRule& rule, std::vector<std::size_t> tensors);

  struct Update {
    std::uint64_t examples;  // Of which `mean` is the mean gradient.
    std::uint64_t nominal;   // As many as are usual.
    std::uint64_t applied;   // Of the whole run, these included.
  };
  // In place. As Coordinator::commit() and Shard::step() of gradients that are not stale.
  void step(const Update& update, std::span<const float> mean, std::span<float> weights);

 private:
  const StepRule rule_;
  const std::unique_ptr<update::Optimizer> optimizer_;
};

}  // namespace outpace::collective
