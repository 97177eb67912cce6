// The weights of a deep runtime model, deep.h or deep_joint.h: its tensors and their numbers.
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
  // For deep-joint: the workers of its cluster. 0: deep, whose weights serve each worker alone.
  std::uint32_t workers = 0;

  bool operator==(const DeepShape&) const = default;
};

// The largest value of each that a file may have.
inline constexpr std::uint32_t kDeepShapeMost = 256;
inline constexpr std::uint32_t kJointWorkersMost = 65'536;

// The shape of a joint model for this many workers. REQUIRES: workers <= kJointWorkersMost.
[[nodiscard]] DeepShape joint_shape(std::uint32_t workers);

[[nodiscard]] inline bool is_joint(const DeepShape& shape) {
  return shape.workers > 0;
}
// Inputs of the inference network.
[[nodiscard]] std::uint32_t features_of(const DeepShape& shape);

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
  std::vector<float> numbers;  // The numbers of deep_tensors(shape), one after another.
  // A joint model's unit: these are of log seconds in the traces that it was fitted to.
  double mean = 0.0;
  double deviation = 1.0;
};

// Throws Error(kUnreadable) if there are too many or too few numbers, one is not finite, or the
// deviation is not positive.
void check(const DeepWeights& weights);

}  // namespace outpace::runtime_model
