#include "cli/predict_table.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"
#include "throughput/predict.h"
#include "throughput/prediction_table.h"
#include "throughput/table.h"

namespace outpace::cli {
namespace {

constexpr std::uint64_t kWorkersMost = 1'000'000;
constexpr std::uint64_t kPredictionsMost = 10'000;
constexpr double kBatchLeast = 1e-9;
constexpr double kBatchMost = 1e12;

std::vector<throughput::Prediction> predict_all(const throughput::CalibratedProfile& profile,
                                                const std::vector<throughput::Row>& rows) {
  std::vector<throughput::Prediction> predictions;
  predictions.reserve(rows.size());
  for (const throughput::Row& row : rows) {
    predictions.push_back(throughput::predict(profile, row.configuration));
  }
  return predictions;
}

// "1..64", "8" or "1,2,4".
std::vector<std::uint32_t> parse_workers(const std::string& text) {
  const auto wrong = [&text] {
    return usage_error(
        fmt::format("--workers is '{}'; it takes a number, 1..64 or 1,2,4, each from 1 to {}, at "
                    "most {} of them",
                    text.substr(0, 40),
                    kWorkersMost,
                    kPredictionsMost));
  };
  std::vector<std::uint32_t> workers;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    const auto first = parse_count(part.substr(0, dots));
    const auto last = dots == std::string_view::npos ? first : parse_count(part.substr(dots + 2));
    if (!first || !last || *first < 1 || *last < *first || *last > kWorkersMost ||
        workers.size() + *last - *first >= kPredictionsMost) {
      throw wrong();
    }
    workers.reserve(workers.size() + (*last - *first) + 1);
    for (std::uint64_t number = *first; number <= *last; ++number) {
      workers.push_back(static_cast<std::uint32_t>(number));
    }
  }
  return workers;
}

double batch_for(const throughput::CalibratedProfile& profile, const WorkersOptions& options) {
  if (options.batch) {
    if (!(*options.batch >= kBatchLeast && *options.batch <= kBatchMost)) {  // Nor NaN.
      throw usage_error(
          fmt::format("--batch is {:g}; it takes a number of examples from {:g} to {:g}",
                      *options.batch,
                      kBatchLeast,
                      kBatchMost));
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
  std::vector<throughput::Prediction> predictions;
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

int predict_workers(const throughput::CalibratedProfile& profile,
                    const WorkersOptions& options,
                    bool json) {
  std::vector<throughput::Row> rows;
  const std::vector<std::uint32_t> numbers = parse_workers(options.workers);
  rows.reserve(numbers.size());
  for (const std::uint32_t workers : numbers) {
    rows.push_back({.configuration = {.workers = workers,
                                      .nodes = nodes_for(profile, options, workers),
                                      .batch_per_worker = batch_for(profile, options),
                                      .policy = options.policy,
                                      .topology = options.topology}});
  }
  const std::vector<throughput::Prediction> predictions = predict_all(profile, rows);
  fmt::print("{}",
             json ? throughput::throughput_json(rows, predictions)
                  : throughput::table_text(rows, predictions));
  std::fflush(stdout);
  return 0;
}

}  // namespace outpace::cli
