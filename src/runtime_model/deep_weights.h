// The weights of the deep runtime model: which tensors there are, and their numbers.
//
// What they compute is in deep_network.h. They are fitted by fit/deep_fit.h and kept in a file by
// record/runtime_model_file.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outpace::runtime_model {

struct DeepShape {
  std::uint32_t hidden = 24;     // Units of the recurrent network and of the other hidden layers.
  std::uint32_t latent = 8;      // Numbers in z.
  std::uint32_t components = 3;  // Lognormals of an emission.

  bool operator==(const DeepShape&) const = default;
};

// The largest of each that is taken from a file.
inline constexpr std::uint32_t kDeepShapeMost = 256;

struct DeepTensor {
  std::string name;
  std::vector<std::uint64_t> dimensions;  // (outputs, inputs) of a weight, (outputs) of a bias.

  [[nodiscard]] std::size_t numbers() const;
};

// All tensors, in the order of their numbers. REQUIRES: 1 <= each of the shape <= kDeepShapeMost.
[[nodiscard]] std::vector<DeepTensor> deep_tensors(const DeepShape& shape);

struct DeepWeights {
  DeepShape shape;
  std::vector<float> numbers;  // Of deep_tensors(shape), one after the other.
};

// Throws Error(kUnreadable) if there are too many or too few numbers, or one is not finite.
void check(const DeepWeights& weights);

}  // namespace outpace::runtime_model
