// The server's optimizer: one step of the flat weights, given the mean gradient of an update.
//
// The mean and the weights are flat float32 buffers of the shard's size. So is each part of the
// state (momentum, moments), which starts at 0 unless an option says otherwise. The arithmetic is
// float32, element by element, without fused multiply-add. A step is thus the same to the bit
// however the weights are split over shards. The exceptions are lamb, which needs each tensor
// whole, and yellowfin, which needs all of them. Each optimizer is one small file with its equation
// and source (sgd, momentum, adam, lamb, rmsprop, adagrad, adadelta, yellowfin); optimizers() lists
// them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/archive.h"
#include "base/spec.h"

namespace outpace::update {

// The largest value of an option that must be below 1: it stays below 1 as a float32, and is short
// in a message.
inline constexpr double kBelowOne = 0.999999;

// Each is finite and at least 0.
struct Step {
  double rate;         // Learning rate after schedule and lr-scale, in weight per unit of gradient.
  double mean_weight;  // Aggregate's; 1 if every gradient counts in full.
  // L2 coefficient; decoupled in adamw, otherwise added to the gradient. Scaled by mean_weight, or
  // stale gradients would decay too much.
  double weight_decay;
  // In (0, 1]: this update's gradients over the live workers. Below 1 they may be stale, and 1 /
  // share updates do the work of one synchronous update. Counts for what remembers gradients.
  double share = 1.0;
};

// A part of an optimizer's state that has a number for each weight.
struct StatePart {
  std::string name;
  std::span<float> numbers;
  bool of_squares;  // At least 0.
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Moves the weights in place. `mean` is Aggregate::mean(): already weighted, unless
  // scale_invariant(). REQUIRES: both spans have the size given at construction.
  virtual void step(const Step& step, std::span<const float> mean, std::span<float> weights) = 0;

  // The same with the moved weights elsewhere: `moved` was undefined, and `weights` stay as they
  // are. A version that somebody still reads then needs no copy. REQUIRES: the spans do not
  // overlap.
  virtual void step_into(const Step& step,
                         std::span<const float> mean,
                         std::span<const float> weights,
                         std::span<float> moved) {
    std::copy(weights.begin(), weights.end(), moved.begin());
    this->step(step, mean, moved);
  }

  // Whether the step's length is independent of the gradient's, as in adam: all but sgd and
  // the momenta. If so, step() takes the unweighted mean and scales its step by mean_weight itself.
  [[nodiscard]] virtual bool scale_invariant() const = 0;

  // What it remembers from step to step.
  virtual void keep(Archive& archive) = 0;

  // The parts of what it remembers that another training may have left to begin with; empty: it
  // always begins anew.
  [[nodiscard]] virtual std::vector<StatePart> state_parts() { return {}; }
  // This many steps count as made, before the first one.
  virtual void count_from(std::uint64_t /*updates*/) {}
};

struct OptimizerDoc {
  std::string name;
  std::string options;  // "mu=0.9"
  std::string rule;     // The update in one line; g is the mean gradient, w the weights.
  std::string source;
};
[[nodiscard]] std::span<const OptimizerDoc> optimizers();

// Makes an optimizer from "sgd", "momentum:mu=0.9,over=round", "nesterov" (also over=delayed),
// "adam:beta1=0.9,beta2=0.999,epsilon=1e-8", "adamw" (options as adam), "lamb" (as adam, but
// epsilon=1e-6), "rmsprop:alpha=0.99,epsilon=1e-8,mu=0,centered=no",
// "adagrad:lr_decay=0,initial=0,epsilon=1e-10", "adadelta:rho=0.9,epsilon=1e-6" or
// "yellowfin:beta=0.999,window=20,gamma=0,tau=0". The options shown are the defaults; mu, alpha,
// rho and the betas are in [0, 1), epsilon is above 0. `tensors`: the sizes of the network's
// tensors in order, which add up to `size`; empty means one tensor. Throws a usage error that names
// the nearest optimizer.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(const Spec& spec,
                                                        std::size_t size,
                                                        std::vector<std::size_t> tensors = {});

}  // namespace outpace::update
