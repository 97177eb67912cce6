// The result of a run, as a person or a program reads it.

#pragma once

#include "run/run_recorder.h"

namespace outpace::cli {

// Prints the result for people and, with `json`, as one object, last, on standard output. Gives
// exit code 0, or throws the run's end as Error if it ended in another way.
int print_result(const run::RunEnd& end, bool json);

}  // namespace outpace::cli
