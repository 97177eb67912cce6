// What variables say to a program that is a part of a job by include/outpace: where the server is,
// which worker this is, and how long to try. src/launch reads what a launcher says.

#pragma once

#include "outpace/worker.h"

namespace outpace::live {

// All that Worker::from_environment() reads; `ranked`: the rank too. Throws a usage error that
// names the variable.
[[nodiscard]] outpace::WorkerOptions options_from_environment(bool ranked);

}  // namespace outpace::live
