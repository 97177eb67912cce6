// Gradients that are a ledger: example e adds one to number e, in whole numbers that float32 holds
// exactly, so that the weights of a run say how often each example was applied.
//
// The optimizer is to be plain SGD, with a rate that undoes the mean over an update's examples.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "worker/gradient_source.h"

namespace outpace::worker {

class Ledger final : public GradientSource {
 public:
  // One in `broken_every` gradients is not finite; 0: none. The ledger is in `tensors` parts.
  // REQUIRES: 1 <= tensors <= examples.
  explicit Ledger(std::uint64_t examples, std::uint64_t broken_every = 0, std::uint64_t tensors = 1)
      : manifest_(manifest_of(examples, tensors)),
        examples_(examples),
        broken_every_(broken_every) {}

  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return examples_; }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return std::vector<float>(examples_, 0.0F);
  }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& cancelled) override;

 private:
  static protocol::Manifest manifest_of(std::uint64_t examples, std::uint64_t tensors);

  protocol::Manifest manifest_;
  std::uint64_t examples_;
  std::uint64_t broken_every_;
  std::uint64_t computed_ = 0;
};

}  // namespace outpace::worker
