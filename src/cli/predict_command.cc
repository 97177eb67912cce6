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
  if (options.configurations.empty()) {
    throw usage_error("predict takes --configurations TABLE.csv: what to predict");
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
  command.add_flag("--json", options->json, "Print one JSON object on standard output");
  return [options](const CLI::App& /*command*/, const Origins& /*origins*/) {
    return run_predict(*options);
  };
}

}  // namespace outpace::cli
