// What a staleness rule does to a gradient's numbers, beyond one weight for the whole of it: gap,
// dcasgd and dynsgd, each in a file of its own with its equation and source.
//
// A correction knows which weights each worker was released with, and the weights as they are when
// its gradient is taken up. It works on each gradient before the mean, after clipping.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/spec.h"
#include "update/staleness.h"

namespace outpace::update {

// The weights of one version. Shared, because workers that were released with the same version, the
// messages to them and a correction would else each have a copy.
using SharedWeights = std::shared_ptr<const std::vector<float>>;

struct Corrected {
  WorkerId worker;
  std::uint32_t examples;  // At least 1.
};

class Correction {
 public:
  virtual ~Correction() = default;

  // The worker's next gradient will be of these, which are the present ones.
  virtual void released(WorkerId worker, const SharedWeights& weights) = 0;
  // In place. `weights` are the present ones. REQUIRES: the worker was released; both spans have
  // the size given at construction; every number is finite, and is so afterwards.
  virtual void correct(const Corrected& of,
                       std::span<float> gradient,
                       std::span<const float> weights) = 0;
  // The weights moved by an update made of what was corrected since the last call.
  virtual void stepped(std::span<const float> before, std::span<const float> after) = 0;
  // The worker is gone: frees what is kept of it.
  virtual void forget(WorkerId worker) = 0;

  // Nothing: the corrected gradients of an update are averaged, as always. A number: they are added
  // up, and it is what weight decay counts by in this update, as Step::mean_weight.
  [[nodiscard]] virtual std::optional<double> added_up() const { return std::nullopt; }
};

// Null for a rule that is a weight alone. `size`: of the weights, in numbers.
[[nodiscard]] std::unique_ptr<Correction> make_correction(const StalenessRule& rule,
                                                          std::size_t size);

// Throws a usage error if the optimizer would undo what the rule does. `scale_invariant`: as the
// optimizer says.
void check_suits(const StalenessRule& rule, const Spec& optimizer, bool scale_invariant);

}  // namespace outpace::update
