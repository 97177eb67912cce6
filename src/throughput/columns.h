// A record as columns of runtimes: as it was, and with some of what slowed it down taken away.

#pragma once

#include <vector>

#include "record/recorded_run.h"
#include "throughput/recorded_timing.h"

namespace outpace::throughput {

// By worker; one that finished nothing has an empty column.
[[nodiscard]] std::vector<Column> recorded_columns(const record::RecordedRun& run);

// Each iteration takes the median over the workers, over all or all others, of what an iteration
// that began nearest to it took of its own; of an even number the mean of the two in the middle. Of
// more than 64 workers the median is of 64, evenly spread. REQUIRES: a column is not empty.
enum class MedianOf : std::uint8_t { kAll, kOthers };
[[nodiscard]] std::vector<Column> median_columns(const std::vector<Column>& columns, MedianOf of);

// Half the communication, which is the same in each iteration of a worker; none takes less than 0.
[[nodiscard]] std::vector<Column> faster_link_columns(const record::RecordedRun& run,
                                                      std::vector<Column> columns);

[[nodiscard]] double mean_own(const Column& column);

}  // namespace outpace::throughput
