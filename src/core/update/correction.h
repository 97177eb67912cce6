// Staleness rules that change a gradient number by number, instead of weighting it as a whole: gap,
// dcasgd and dynsgd. Each is in a file of its own, with its equation and source.
//
// A correction knows the weights that each worker was released with, and the present weights when
// its gradient is applied. It corrects each gradient before the mean and after clipping.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/spec.h"
#include "update/staleness.h"

namespace outpace::update {

// The weights of one version. Shared, because otherwise workers released with the same version, the
// messages to them and a correction would each have a copy.
using SharedWeights = std::shared_ptr<const std::vector<float>>;

struct Corrected {
  WorkerId worker;
  std::uint32_t examples;  // At least 1.
};

class Correction {
 public:
  virtual ~Correction() = default;

  // The worker was released with `weights`, which are the present ones; its next gradient is
  // computed on them.
  virtual void released(WorkerId worker, const SharedWeights& weights) = 0;
  // Corrects the gradient in place. `weights` are the present ones. REQUIRES: the worker was
  // released; both spans have the size given at construction; every number is finite, and stays so.
  virtual void correct(const Corrected& of,
                       std::span<float> gradient,
                       std::span<const float> weights) = 0;
  // An update of the gradients corrected since the last call has moved the weights.
  virtual void stepped(std::span<const float> before, std::span<const float> after) = 0;
  // The worker is gone: frees its state.
  virtual void forget(WorkerId worker) = 0;

  // Nothing: the corrected gradients of an update are averaged, as always. A number: they are added
  // up instead, and the number takes the place of Step::mean_weight in this update's weight decay.
  [[nodiscard]] virtual std::optional<double> added_up() const { return std::nullopt; }

  // What outlasts its workers.
  virtual void keep(Archive& archive) = 0;
};

// Null for a rule that only weights gradients. `size`: how many numbers the weights have.
[[nodiscard]] std::unique_ptr<Correction> make_correction(const StalenessRule& rule,
                                                          std::size_t size);

// Throws a usage error if the optimizer would undo the rule. `scale_invariant`: see Optimizer.
void check_suits(const StalenessRule& rule, const Spec& optimizer, bool scale_invariant);

}  // namespace outpace::update
