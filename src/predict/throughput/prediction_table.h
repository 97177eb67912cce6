// Formats predictions of a table's rows, for people and for programs.

#pragma once

#include <span>
#include <string>

#include "throughput/predict.h"

namespace outpace::throughput {

// All three functions REQUIRE as many predictions as rows.

// One line per row, then the notes, and the errors if anything was measured. Policy and topology
// have columns if any row names one.
[[nodiscard]] std::string table_text(std::span<const Row> rows,
                                     std::span<const IterationPrediction> predictions);

// {"rows": [...], "measured": n, "median_absolute_error": x, ...}. Each row has its columns,
// iteration_seconds_predicted (null if refused), low, high (null if unbounded), error (predicted /
// measured - 1; null unless both exist), warnings and refused. The errors are null without
// measurements.
[[nodiscard]] std::string table_json(std::span<const Row> rows,
                                     std::span<const IterationPrediction> predictions);

// {"predictions": [{"model": "calibrated", "workers": 8, ...}]}: throughput and its interval.
// bottleneck is "compute" or "sync". Unknown or refused values are null.
[[nodiscard]] std::string throughput_json(std::span<const Row> rows,
                                          std::span<const IterationPrediction> predictions);

}  // namespace outpace::throughput
