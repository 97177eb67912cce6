#include "throughput/columns.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "throughput/own_time.h"
#include "throughput/quantile.h"

namespace outpace::throughput {
namespace {

constexpr std::size_t kMedianOfMost = 64;

// Columns that are not empty; at most kMedianOfMost of them, evenly spread.
std::vector<std::size_t> judges(const std::vector<Column>& columns) {
  std::vector<std::size_t> filled;
  filled.reserve(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].begins.empty()) {
      filled.push_back(i);
    }
  }
  if (filled.size() <= kMedianOfMost) {
    return filled;
  }
  std::vector<std::size_t> spread;
  spread.reserve(kMedianOfMost);
  for (std::size_t i = 0; i < kMedianOfMost; ++i) {
    spread.push_back(filled[i * filled.size() / kMedianOfMost]);
  }
  return spread;
}

}  // namespace

std::vector<Column> recorded_columns(const policy::RecordedRun& run) {
  std::vector<std::vector<double>> own = own_times(run);
  std::vector<Column> columns(run.workers.size());
  for (std::size_t worker = 0; worker < columns.size(); ++worker) {
    Column& column = columns[worker];
    column.own = std::move(own[worker]);
    column.begins.reserve(column.own.size());
    for (const policy::RecordedIteration& one : run.workers[worker].iterations) {
      column.begins.push_back(one.begin);
    }
    column.processor_seconds =
        run.cores == 0 ? 0.0 : run.workers[worker].processor_seconds.value_or(0.0);
  }
  return columns;
}

std::vector<Column> median_columns(const std::vector<Column>& columns, MedianOf of) {
  const std::vector<std::size_t> asked = judges(columns);
  std::vector<Column> medians = columns;
  std::vector<double> at;
  for (std::size_t worker = 0; worker < columns.size(); ++worker) {
    for (std::size_t i = 0; i < columns[worker].begins.size(); ++i) {
      at.clear();
      for (const std::size_t judge : asked) {
        if (of == MedianOf::kAll || judge != worker) {
          at.push_back(columns[judge].own[columns[judge].nearest(columns[worker].begins[i])]);
        }
      }
      if (!at.empty()) {  // Nobody else: it is as it was.
        medians[worker].own[i] = quantile(at, 0.5);
      }
    }
  }
  return medians;
}

std::vector<Column> faster_link_columns(const policy::RecordedRun& run,
                                        std::vector<Column> columns) {
  const double apart = message_seconds(run);
  for (std::size_t worker = 0; worker < columns.size(); ++worker) {
    const double less =
        0.5 * std::max(0.0, run.workers[worker].communication_seconds.value_or(0.0) - apart);
    for (double& own : columns[worker].own) {
      own = std::max(0.5 * own, own - less);  // Were it all communication, half would be left.
    }
  }
  return columns;
}

double mean_own(const Column& column) {
  return column.own.empty() ? 0.0
                            : std::accumulate(column.own.begin(), column.own.end(), 0.0) /
                                  static_cast<double>(column.own.size());
}

}  // namespace outpace::throughput
