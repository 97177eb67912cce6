// What `outpace predict` does with a measured profile: clusters of many kinds, each by a fine and a
// coarse model.

#pragma once

#include <string>
#include <vector>

#include "job/option_list.h"

#include "cli/cluster_options.h"
#include "throughput/measured_profile.h"

namespace outpace::cli {

struct PredictClusterOptions {
  std::string workers;                  // Empty: 1..16.
  std::vector<std::string> policies;    // Empty: sync and async.
  std::vector<std::string> topologies;  // Empty: ps.
  std::string shards = "1";
  std::vector<std::string> models{"fine", "coarse"};
  ModelledClusterOptions cluster;
  std::string plot;  // Empty: none.
  bool json = false;
};
void add_predict_cluster_options(job::OptionList& list, PredictClusterOptions& options);

// Prints the predictions, as JSON or for people. Throws a usage error that names the option.
int predict_cluster(const throughput::MeasuredProfile& profile,
                    const PredictClusterOptions& options);

}  // namespace outpace::cli
