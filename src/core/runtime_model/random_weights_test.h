// For tests of the deep runtime model: weights of a small shape, drawn at random.

#pragma once

#include <cstdint>

#include "base/rng.h"
#include "runtime_model/deep_weights.h"

namespace outpace::runtime_model {

inline DeepWeights random_weights(std::uint64_t seed, const DeepShape& shape = {}) {
  DeepWeights weights{.shape = shape, .numbers = {}};
  Rng rng(seed, 0);
  for (const DeepTensor& tensor : deep_tensors(shape)) {
    for (std::size_t i = 0; i < tensor.numbers(); ++i) {
      weights.numbers.push_back(static_cast<float>(0.3 * rng.normal()));
    }
  }
  return weights;
}

}  // namespace outpace::runtime_model
