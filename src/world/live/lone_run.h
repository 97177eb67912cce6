// Runs a server and its one worker in this process, over a real connection, to measure their cost.

#pragma once

#include "live/server.h"
#include "worker/gradient_source.h"

namespace outpace::live {

// Runs to its limits. The worker computes on the caller's thread. Throws Error if either fails.
// REQUIRES: options.coordinator.workers == 1.
[[nodiscard]] RunResult run_alone(ServerOptions options, worker::GradientSource& source);

}  // namespace outpace::live
