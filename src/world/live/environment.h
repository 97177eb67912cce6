// What variables say to a program that is a part of a job by include/outpace: where the server is,
// which worker this is, and how long to try. src/core/launch reads what a launcher says.

#pragma once

#include <optional>
#include <string>

#include "outpace/worker.h"
#include "worker/pace.h"

namespace outpace::live {

// All that Worker::from_environment() reads; `ranked`: the rank too. Throws a usage error that
// names the variable.
[[nodiscard]] outpace::WorkerOptions options_from_environment(bool ranked);

// How `outpace run --slow` and `--delays` slow down this worker; nothing if they do not. Throws a
// usage error.
[[nodiscard]] std::optional<worker::Pace> pace_from_environment(WorkerId worker);

// The file in which `outpace profile` wants the worker's passes (pass_log.h); empty: none.
[[nodiscard]] std::string profile_from_environment();

}  // namespace outpace::live
