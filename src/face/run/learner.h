// What computes real gradients: libtorch, which this folder does not link. Each program passes its
// own in.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/spec.h"
#include "protocol/messages.h"
#include "worker/gradient_source.h"

namespace outpace::run {

struct Lesson {
  Spec network;
  Spec data;
  std::uint64_t seed;
  std::uint32_t threads = 1;
};

// A network's tensors, and how the server steps them.
struct Layout {
  protocol::Manifest manifest;
  protocol::Script script;
};

// All throw a usage error for an unknown network or data set.
struct Learner {
  std::function<std::unique_ptr<worker::GradientSource>(const Lesson&)> gradients;
  std::function<std::unique_ptr<worker::Evaluator>(const Lesson&)> evaluator;
  // The network's layout for that data, without loading it.
  std::function<Layout(const Spec& network, const Spec& data)> layout;
};

}  // namespace outpace::run
