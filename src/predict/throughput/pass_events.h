// Measured passes as the events of a Chrome trace: what a profile keeps to look at.

#pragma once

#include <span>
#include <string>

#include "throughput/pass_marks.h"

namespace outpace::throughput {

// A JSON array, in microseconds since the first pass began: each layer forward and backward, and
// the gradient's way to the server and back. Empty without passes.
[[nodiscard]] std::string pass_events(std::span<const PassMarks> passes);

}  // namespace outpace::throughput
