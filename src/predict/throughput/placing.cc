#include "throughput/placing.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace outpace::throughput {
namespace {

double batch_for(const CalibratedProfile& profile, const job::Placing& placing) {
  if (placing.batch) {
    return *placing.batch;
  }
  const double only = profile.groups.front().seen.batch_min;
  for (const CalibratedGroup& group : profile.groups) {
    if (group.seen.batch_min != only || group.seen.batch_max != only) {
      throw usage_error("--workers takes --batch too: several batches were measured");
    }
  }
  return only;
}

std::uint32_t nodes_for(const CalibratedProfile& profile,
                        const job::Placing& placing,
                        std::uint32_t workers) {
  if (placing.nodes) {
    if (*placing.nodes > workers) {
      throw usage_error(
          fmt::format("--nodes is {} with {} workers; it takes at most one for each worker",
                      *placing.nodes,
                      workers));
    }
    return *placing.nodes;
  }
  std::uint32_t here = 1;
  for (const CalibratedGroup& group : profile.groups) {
    here = std::max(here, group.seen.workers_per_node_max);
  }
  here = placing.workers_per_node.value_or(here);
  return (workers + here - 1) / here;
}

}  // namespace

std::vector<Row> place_workers(const CalibratedProfile& profile, const AskedWorkers& asked) {
  std::vector<Row> rows;
  rows.reserve(asked.counts.size());
  for (const std::uint32_t workers : asked.counts) {
    rows.push_back({.configuration = {.workers = workers,
                                      .nodes = nodes_for(profile, asked.placing, workers),
                                      .batch_per_worker = batch_for(profile, asked.placing),
                                      .policy = asked.policy,
                                      .topology = asked.topology}});
  }
  return rows;
}

std::vector<IterationPrediction> predict_rows(const CalibratedProfile& profile,
                                              const std::vector<Row>& rows) {
  std::vector<IterationPrediction> predictions;
  predictions.reserve(rows.size());
  for (const Row& row : rows) {
    predictions.push_back(predict(profile, row.configuration));
  }
  return predictions;
}

}  // namespace outpace::throughput
