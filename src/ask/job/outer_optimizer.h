// The optimizer of the server under local steps, as users write it.

#pragma once

#include "base/spec.h"

namespace outpace::job {

// What steps the server's weights along what phases of local steps have changed.
struct OuterOptimizer {
  Spec optimizer;  // As update::make_optimizer() takes it.
  double rate = 0.7;
};
// "nesterov:mu=0.9,lr=0.7" and such: an optimizer with its learning rate among its options. Throws
// a usage error. A nesterov is a delayed one (update/delayed_nesterov.h) unless it says over=.
[[nodiscard]] OuterOptimizer parse_outer(const Spec& spec);

}  // namespace outpace::job
