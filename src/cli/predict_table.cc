#include "cli/predict_table.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/count_list.h"
#include "cli/options.h"
#include "throughput/measured_table.h"
#include "throughput/predict.h"
#include "throughput/prediction_table.h"

namespace outpace::cli {
namespace {

constexpr std::uint32_t kTableWorkersMost = 1'000'000;
constexpr double kTableBatchLeast = 1e-9;
constexpr double kTableBatchMost = 1e12;

std::vector<throughput::IterationPrediction> predict_all(
    const throughput::CalibratedProfile& profile, const std::vector<throughput::Row>& rows) {
  std::vector<throughput::IterationPrediction> predictions;
  predictions.reserve(rows.size());
  for (const throughput::Row& row : rows) {
    predictions.push_back(throughput::predict(profile, row.configuration));
  }
  return predictions;
}

double batch_for(const throughput::CalibratedProfile& profile, const WorkersOptions& options) {
  if (options.batch) {
    if (!(*options.batch >= kTableBatchLeast && *options.batch <= kTableBatchMost)) {  // Nor NaN.
      throw usage_error(
          fmt::format("--batch is {:g}; it takes a number of examples from {:g} to {:g}",
                      *options.batch,
                      kTableBatchLeast,
                      kTableBatchMost));
    }
    return *options.batch;
  }
  const double only = profile.groups.front().seen.batch_min;
  for (const throughput::CalibratedGroup& group : profile.groups) {
    if (group.seen.batch_min != only || group.seen.batch_max != only) {
      throw usage_error("--workers takes --batch too: several batches were measured");
    }
  }
  return only;
}

std::uint32_t nodes_for(const throughput::CalibratedProfile& profile,
                        const WorkersOptions& options,
                        std::uint32_t workers) {
  if (options.nodes) {
    if (*options.nodes > workers) {
      throw usage_error(fmt::format(
          "--nodes {} with {} workers; every node has one at least", *options.nodes, workers));
    }
    return *options.nodes;
  }
  std::uint32_t here = 1;
  for (const throughput::CalibratedGroup& group : profile.groups) {
    here = std::max(here, group.seen.workers_per_node_max);
  }
  here = options.workers_per_node.value_or(here);
  return (workers + here - 1) / here;
}

}  // namespace

int predict_table(const throughput::CalibratedProfile& profile,
                  const std::string& path,
                  bool json) {
  const std::vector<throughput::Row> rows =
      throughput::read_table(read_file("configurations", path), path);
  std::vector<throughput::IterationPrediction> predictions;
  predictions.reserve(rows.size());
  for (const throughput::Row& row : rows) {
    predictions.push_back(throughput::predict(profile, row.configuration));
  }
  fmt::print(
      "{}",
      json ? throughput::table_json(rows, predictions) : throughput::table_text(rows, predictions));
  std::fflush(stdout);
  return 0;
}

std::vector<throughput::Row> rows_of_workers(const throughput::CalibratedProfile& profile,
                                             const WorkersOptions& options) {
  std::vector<throughput::Row> rows;
  const std::vector<std::uint32_t> numbers =
      parse_count_list("workers", options.workers, kTableWorkersMost);
  rows.reserve(numbers.size());
  for (const std::uint32_t workers : numbers) {
    rows.push_back({.configuration = {.workers = workers,
                                      .nodes = nodes_for(profile, options, workers),
                                      .batch_per_worker = batch_for(profile, options),
                                      .policy = options.policy,
                                      .topology = options.topology}});
  }
  return rows;
}

int predict_workers(const throughput::CalibratedProfile& profile,
                    const WorkersOptions& options,
                    bool json) {
  const std::vector<throughput::Row> rows = rows_of_workers(profile, options);
  const std::vector<throughput::IterationPrediction> predictions = predict_all(profile, rows);
  fmt::print("{}",
             json ? throughput::throughput_json(rows, predictions)
                  : throughput::table_text(rows, predictions));
  std::fflush(stdout);
  return 0;
}

}  // namespace outpace::cli
