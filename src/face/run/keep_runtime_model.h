// A run's copy of the runtime model that its policy starts from, so that the run can be replayed.

#pragma once

#include <string>

#include "record/run_directory.h"

namespace outpace::run {

// Does nothing if `file` is empty. Throws Error if it cannot be copied.
void keep_runtime_model(const std::string& file, const record::RunDirectory& directory);

}  // namespace outpace::run
