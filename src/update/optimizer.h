// The server's optimizer: one step on the flat weights from the mean gradient of an update.
//
// mean and weights are flat float32 of the shard's size; state (momentum, moments) has that size
// too and starts at 0. The arithmetic is float32, element by element, without fused multiply-add,
// so a step is the same to the bit however the weights are split over shards; but for lamb, which
// wants each tensor whole, and yellowfin, which wants all of them. Each optimizer is one small file
// (sgd, momentum, adam, lamb, yellowfin) with its equation and source; optimizers() lists them.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/spec.h"

namespace outpace::update {

// The greatest option of those that must be below 1: it is so as a float32 too, and short in a
// message.
inline constexpr double kBelowOne = 0.999999;

// Each is finite and >= 0.
struct Step {
  double rate;          // Learning rate after schedule and lr-scale: weight per unit of gradient.
  double mean_weight;   // As Aggregate's; 1 when every gradient counts fully.
  double weight_decay;  // L2 coefficient; decoupled in adamw, else added to the gradient. Scaled
                        // once by mean_weight, or stale gradients would decay too much.
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // In place. `mean` is Aggregate::mean(): already weighted, unless scale_invariant().
  // REQUIRES: both spans have the size given at construction.
  virtual void step(const Step& step, std::span<const float> mean, std::span<float> weights) = 0;

  // The step does not grow with the gradient (adam, lamb, yellowfin): it wants the unweighted mean
  // and scales its step by mean_weight itself.
  [[nodiscard]] virtual bool scale_invariant() const = 0;
};

struct OptimizerDoc {
  std::string name;
  std::string options;  // "mu=0.9"
  std::string rule;     // The update in one line; g is the mean gradient, w the weights.
  std::string source;
};
[[nodiscard]] std::span<const OptimizerDoc> optimizers();

// "sgd", "momentum:mu=0.9", "nesterov:mu=0.9", "adam:beta1=0.9,beta2=0.999,epsilon=1e-8", "adamw".
// mu and the betas lie in [0, 1), epsilon above 0; those shown are the defaults. "lamb" as adam,
// with epsilon=1e-6; "yellowfin:beta=0.999,window=20,gamma=0,tau=0". `tensors`: the sizes of the
// network's tensors in their order, which add up to `size`; without any, all is one tensor. Throws
// a usage error that names the nearest one.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(const Spec& spec,
                                                        std::size_t size,
                                                        std::vector<std::size_t> tensors = {});

}  // namespace outpace::update
