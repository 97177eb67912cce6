// What `outpace predict` does with a calibrated profile: the rows of a table, or numbers of
// workers.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "throughput/configuration.h"
#include "throughput/profile.h"

namespace outpace::cli {

// Prints a prediction for each row of the table at `path`, as JSON or for people.
int predict_table(const throughput::CalibratedProfile& profile, const std::string& path, bool json);

struct WorkersOptions {
  std::string workers;  // "1..64", "8" or "1,2,4"; ends are included.
  std::optional<std::uint32_t> nodes;
  std::optional<std::uint32_t> workers_per_node;
  std::optional<double> batch;
  std::string policy;
  std::string topology;
};

// What is asked of each number of workers. Throws as predict_workers() does.
[[nodiscard]] std::vector<throughput::Row> rows_of_workers(
    const throughput::CalibratedProfile& profile, const WorkersOptions& options);

// Prints a prediction for each number of workers. Without nodes and workers_per_node, as many a
// node as were measured at most; without batch, the one that was measured if it is the only one.
// Throws a usage error for options that are wrong or say too little.
int predict_workers(const throughput::CalibratedProfile& profile,
                    const WorkersOptions& options,
                    bool json);

}  // namespace outpace::cli
