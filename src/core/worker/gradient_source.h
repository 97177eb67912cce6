// What a worker computes: the gradient of a network's loss on some examples.
//
// The interface keeps libtorch out of everything but learn/: the worker's loop, the simulator and
// tests drive any source.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "protocol/messages.h"

namespace outpace::worker {

class GradientSource {
 public:
  // Asked between layers, forward and backward; true means give up.
  using Cancelled = std::function<bool()>;

  virtual ~GradientSource() = default;

  [[nodiscard]] virtual const protocol::Manifest& manifest() const = 0;
  [[nodiscard]] virtual std::uint64_t dataset_examples() const = 0;
  // How the server steps the manifest's tensors. Without groups, all by its options.
  [[nodiscard]] virtual protocol::Script script() const { return {}; }
  // The epoch of the examples that come next: of the first, where a mini-batch has those of two.
  // Random changes of examples are drawn by it.
  virtual void begin_epoch(std::uint64_t /*epoch*/) {}
  // The same on every worker of a job: a function of the job's options alone.
  [[nodiscard]] virtual std::vector<float> initial_weights() const = 0;

  // Writes the mean gradient over `examples` (indices into the data set) at `weights` into
  // `gradient` and returns the mean loss; nothing if it was cancelled, and `gradient` is then
  // undefined. REQUIRES: both spans hold manifest().numbers() numbers; at least one example.
  [[nodiscard]] virtual std::optional<double> compute(std::span<const float> weights,
                                                      std::span<const std::uint64_t> examples,
                                                      std::span<float> gradient,
                                                      const Cancelled& cancelled) = 0;

  // Told that the part of tensor `tensor`, by its place in the manifest, is in the gradient.
  using TensorReady = std::function<void(std::size_t tensor)>;
  // compute(), not cancelled, that tells of each tensor once, as soon as it is there: within the
  // backward pass, from the last layers to the first, if the source can; else all at its end.
  [[nodiscard]] virtual double compute_in_parts(std::span<const float> weights,
                                                std::span<const std::uint64_t> examples,
                                                std::span<float> gradient,
                                                const TensorReady& ready) {
    const double loss = compute(weights, examples, gradient, {}).value();
    for (std::size_t tensor = manifest().tensors.size(); tensor-- > 0;) {
      ready(tensor);
    }
    return loss;
  }

  enum class Weights : std::uint8_t { kThere, kCame, kGivenUp };
  // How transfers overlap with a pass: what it waits for, and what it tells.
  struct Overlap {
    Cancelled cancelled;
    // Waits until the first `numbers` of the weights are there, before they are read: kThere if
    // they were, kCame if it had to wait, kGivenUp if the pass is to be given up.
    std::function<Weights(std::size_t numbers)> wait_for;
    TensorReady ready;  // As in compute_in_parts().
  };
  // compute() on weights that may still be arriving, in the manifest's order: waits for those of a
  // layer before its forward pass, if the source can; else for all at the begin.
  [[nodiscard]] virtual std::optional<double> compute_overlapped(
      std::span<const float> weights,
      std::span<const std::uint64_t> examples,
      std::span<float> gradient,
      const Overlap& overlap) {
    if (overlap.wait_for(weights.size()) == Weights::kGivenUp) {
      return std::nullopt;
    }
    const std::optional<double> loss = compute(weights, examples, gradient, overlap.cancelled);
    for (std::size_t tensor = loss ? manifest().tensors.size() : 0; tensor-- > 0;) {
      overlap.ready(tensor);
    }
    return loss;
  }
};

// How good weights are on the test set.
struct Evaluation {
  std::optional<double> accuracy;  // In [0, 1]; nothing: it was not measured.
  std::optional<double> loss;      // Mean; as accuracy.
  std::vector<protocol::NamedValue> values{};
};
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  [[nodiscard]] virtual const protocol::Manifest& manifest() const = 0;
  [[nodiscard]] virtual Evaluation evaluate(std::span<const float> weights) = 0;
};

}  // namespace outpace::worker
