// Fitting the deep runtime model from a command, with a progress line on standard error.

#pragma once

#include <string>

#include "runtime_model/deep_weights.h"
#include "runtime_model/trial.h"

namespace outpace::cli {

// With the defaults of `outpace fit`. `name` is the trace's, for messages. Throws a usage error if
// the trace is too short.
[[nodiscard]] runtime_model::DeepWeights fit_to(const runtime_model::Trace& trace,
                                                const std::string& name);

}  // namespace outpace::cli
