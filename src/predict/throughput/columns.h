// A run's record as columns of runtimes: as recorded, or with a cause of slowness removed.

#pragma once

#include <vector>

#include "policy/recorded_run.h"
#include "throughput/recorded_timing.h"

namespace outpace::throughput {

// By worker; one that finished nothing has an empty column.
[[nodiscard]] std::vector<Column> recorded_columns(const policy::RecordedRun& run);

// Each iteration takes the median, over all workers or all others, of the own time of their
// iterations that began nearest to it. The median of an even number is the mean of the middle two.
// With more than 64 workers, the median is over 64 of them, evenly spread. REQUIRES: at least one
// column is not empty.
enum class MedianOf : std::uint8_t { kAll, kOthers };
[[nodiscard]] std::vector<Column> median_columns(const std::vector<Column>& columns, MedianOf of);

// Half the communication, which is the same in each iteration of a worker; none takes less than 0.
// Messages that are apart (own_time.h) are not in columns, and so are not halved.
[[nodiscard]] std::vector<Column> faster_link_columns(const policy::RecordedRun& run,
                                                      std::vector<Column> columns);

[[nodiscard]] double mean_own(const Column& column);

}  // namespace outpace::throughput
