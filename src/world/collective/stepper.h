// The step that a worker without a server takes with a gradient; it is the step of a server's
// shard.

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
  // `tensors`: the sizes of the network's tensors, in order. Throws a usage error if the
  // optimizer's spec is wrong.
  Stepper(const StepRule& rule, std::vector<std::size_t> tensors);

  struct Update {
    std::uint64_t examples;  // The examples that `mean` averages over.
    std::uint64_t nominal;   // The usual number.
    std::uint64_t applied;   // In the whole run, including these.
  };
  // Changes the weights in place, as Coordinator::commit() and Shard::step() do for gradients that
  // are not stale.
  void step(const Update& update, std::span<const float> mean, std::span<float> weights);
  // What the optimizer remembers.
  void keep(Archive& archive) { optimizer_->keep(archive); }

 private:
  const StepRule rule_;
  const std::unique_ptr<update::Optimizer> optimizer_;
};

}  // namespace outpace::collective
