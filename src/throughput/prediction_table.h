// Predictions of a table's rows: for people, and for programs.

#pragma once

#include <span>
#include <string>

#include "throughput/predict.h"

namespace outpace::throughput {

// Both REQUIRE as many predictions as rows.

// A line a row, then what the notes mean, and the errors if anything was measured. A policy and a
// topology have a column if any row names one.
[[nodiscard]] std::string table_text(std::span<const Row> rows,
                                     std::span<const IterationPrediction> predictions);

// {"rows": [...], "measured": n, "median_absolute_error": x, ...}: a row has its columns,
// iteration_seconds_predicted (null where refused), low, high (null where open), error (predicted /
// measured - 1; null unless both are there), warnings and refused. Errors are null without
// measurements.
[[nodiscard]] std::string table_json(std::span<const Row> rows,
                                     std::span<const IterationPrediction> predictions);

// {"predictions": [{"model": "calibrated", "workers": 8, ...}]}: throughput, with the interval of
// it; bottleneck is "compute" or "sync". What is not known or was refused is null.
[[nodiscard]] std::string throughput_json(std::span<const Row> rows,
                                          std::span<const IterationPrediction> predictions);

}  // namespace outpace::throughput
