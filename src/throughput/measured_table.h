// Tables of configurations, measured or to be predicted, as CSV.
//
//   workers,nodes,batch_per_worker,iteration_seconds
//   8,2,32,0.175
//
// The first line names the columns, in any order. iteration_seconds may be missing where it is to
// be predicted; sync_seconds, policy and topology are optional, and other columns are not read.
// Blank lines and lines that begin with # are skipped.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "throughput/configuration.h"

namespace outpace::throughput {

inline constexpr std::size_t kTableRowsMax = 10'000;

// `name` is what errors call the text, e.g. its file. Throws a usage error that names it and the
// line for a column that is missing, twice there or nearly one of these, for a row with more or
// fewer cells than columns, for numbers that are not finite or not above 0 (sync_seconds may be 0),
// for fewer workers than nodes, more synchronising than iteration, no row, or more than
// kTableRowsMax.
[[nodiscard]] std::vector<Row> read_table(std::string_view text, const std::string& name);

}  // namespace outpace::throughput
