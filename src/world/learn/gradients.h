// What workers and the evaluator compute with: a network on a data set, through libtorch.
//
// The one door of this folder: live/ and cli/ see only worker/'s interfaces. An object belongs to
// one thread at a time; the number of threads that libtorch uses is the whole process's.

#pragma once

#include <cstdint>
#include <memory>

#include "base/spec.h"
#include "worker/gradient_source.h"

namespace outpace::learn {

struct LearnOptions {
  std::uint64_t seed = 1;  // For the initial weights.
  int threads = 1;         // For one gradient or evaluation.
};

// Gradients of the mean cross-entropy of the training examples' labels (of a text: per character,
// in nats). Throws a usage error for a network or data set that is not known, cannot be read, or do
// not fit each other.
[[nodiscard]] std::unique_ptr<worker::GradientSource> make_gradient_source(
    const Spec& network, const Spec& data, const LearnOptions& options);

// Accuracy and mean cross-entropy of the labels of the whole test part. Throws as above.
[[nodiscard]] std::unique_ptr<worker::Evaluator> make_evaluator(const Spec& network,
                                                                const Spec& data,
                                                                const LearnOptions& options);

}  // namespace outpace::learn
