// The weights of the deep runtime model: its tensors and their numbers.
//
// deep_network.h has what they compute, fit/deep_fit.h fits them, and record/runtime_model_file.h
// reads and writes their file.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outpace::runtime_model {

struct DeepShape {
  std::uint32_t hidden = 24;     // Units of the recurrent network and of the other hidden layers.
  std::uint32_t latent = 8;      // Dimensions of z.
  std::uint32_t components = 3;  // Lognormals of an emission.

  bool operator==(const DeepShape&) const = default;
};

// The largest value of each that a file may have.
inline constexpr std::uint32_t kDeepShapeMost = 256;

struct DeepTensor {
  std::string name;
  std::vector<std::uint64_t> dimensions;  // (outputs, inputs) of a weight, (outputs) of a bias.

  [[nodiscard]] std::size_t numbers() const;
};

// All tensors, in the order of their numbers. REQUIRES: each dimension of the shape is from 1 to
// kDeepShapeMost.
[[nodiscard]] std::vector<DeepTensor> deep_tensors(const DeepShape& shape);

struct DeepWeights {
  DeepShape shape;
  std::vector<float> numbers;  // Of deep_tensors(shape), one after another.
};

// Throws Error(kUnreadable) if there are too many or too few numbers, or one is not finite.
void check(const DeepWeights& weights);

}  // namespace outpace::runtime_model
