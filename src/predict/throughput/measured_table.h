// Tables of configurations, measured or to be predicted, as CSV.
//
//   workers,nodes,batch_per_worker,iteration_seconds
//   8,2,32,0.175
//
// The first line names the columns, in any order. iteration_seconds may be empty where it is to be
// predicted. sync_seconds, policy and topology are optional; other columns are ignored. Blank lines
// and lines that begin with # are skipped.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "throughput/configuration.h"

namespace outpace::throughput {

inline constexpr std::size_t kTableRowsMax = 10'000;

// `name` is what errors call the text, such as its file name. Throws a usage error that names it
// and the line if a column is missing, duplicated or misspelt, a row has the wrong number of cells,
// a number is not finite or not above 0 (sync_seconds may be 0), there are fewer workers than
// nodes, sync_seconds exceeds iteration_seconds, or there are no rows or more than kTableRowsMax.
[[nodiscard]] std::vector<Row> read_table(std::string_view text, const std::string& name);

}  // namespace outpace::throughput
