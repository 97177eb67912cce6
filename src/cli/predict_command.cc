#include <memory>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/predict_table.h"
#include "throughput/profile_json.h"

namespace outpace::cli {
namespace {

struct PredictOptions {
  std::string profile;
  std::string configurations;
  WorkersOptions workers;
  bool json = false;
};

int run_predict(const PredictOptions& options) {
  const nlohmann::json parsed =
      throughput::parse_profile(read_file("profile", options.profile), options.profile);
  const std::string kind = throughput::kind_of(parsed, options.profile);
  if (kind != throughput::kCalibrated) {
    throw usage_error(options.profile + " is of an unknown kind; known: calibrated");
  }
  const throughput::CalibratedProfile profile =
      throughput::calibrated_profile(parsed, options.profile);
  if (options.configurations.empty() == options.workers.workers.empty()) {
    throw usage_error("predict takes --configurations TABLE.csv or --workers 1..64: one of them");
  }
  if (options.configurations.empty()) {
    return predict_workers(profile, options.workers, options.json);
  }
  return predict_table(profile, options.configurations, options.json);
}

}  // namespace

Run add_predict(CLI::App& command) {
  auto options = std::make_shared<PredictOptions>();
  command.add_option("profile", options->profile, "What outpace calibrate wrote")->required();
  command.add_option("--configurations",
                     options->configurations,
                     "CSV with the columns workers, nodes, batch_per_worker; where "
                     "iteration_seconds stands too, the errors are shown");
  WorkersOptions& workers = options->workers;
  command.add_option("--workers", workers.workers, "Numbers of workers: 8, 1..64 or 1,2,4");
  auto* nodes = command.add_option("--nodes", workers.nodes, "With --workers: on so many nodes")
                    ->check(CLI::Range(1U, 1'000'000U));
  command
      .add_option("--workers-per-node",
                  workers.workers_per_node,
                  "With --workers: so many a node (default: the most that were measured)")
      ->check(CLI::Range(1U, 1'000'000U))
      ->excludes(nodes);
  command.add_option("--batch", workers.batch, "With --workers: examples of a worker's mini-batch")
      ->check(CLI::Range(1e-9, 1e12));
  command.add_option("--policy", workers.policy, "With --workers: as the calibration named it");
  command.add_option("--topology", workers.topology, "With --workers: as the calibration named it");
  command.add_flag("--json", options->json, "Print one JSON object on standard output");
  return [options](const CLI::App& /*command*/, const Origins& /*origins*/) {
    return run_predict(*options);
  };
}

}  // namespace outpace::cli
