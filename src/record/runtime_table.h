// runtimes.csv: how long each worker took for each of its iterations, in seconds.
//
// Row k holds every worker's own k-th runtime, so a file of one run is a trace to fit a runtime
// model to, or to slow another run down with (--delays). It is a full table: it ends with the
// worker that measured the fewest, and a worker that measured nothing has no column (a made-up one
// would be taken for a measurement). Comment lines at its top say which were left out.

#pragma once

#include <filesystem>
#include <span>

#include "server/statistics.h"

namespace outpace::record {

// Throws Error if the file system refuses.
void write_runtimes(const std::filesystem::path& path,
                    std::span<const server::WorkerStatistics> workers);

}  // namespace outpace::record
