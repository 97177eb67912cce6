#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/predict_cluster.h"

namespace outpace::cli {
namespace {

struct PredictOptions {
  std::string profile;
  PredictClusterOptions cluster;
};

}  // namespace

Run add_predict(CLI::App& command) {
  auto options = std::make_shared<PredictOptions>();
  command.add_option("profile", options->profile, "What outpace profile wrote")->required();
  add_predict_cluster_options(command, options->cluster);
  command.add_flag("--json", options->cluster.json, "Print one JSON object on standard output");
  return [options](const CLI::App& /*chosen*/, const Origins& /*origins*/) {
    return predict_cluster(throughput::MeasuredProfile::parse(
                               read_file("profile", options->profile), options->profile),
                           options->cluster);
  };
}

}  // namespace outpace::cli
