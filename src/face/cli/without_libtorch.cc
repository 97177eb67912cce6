#include "cli/libtorch.h"

namespace outpace::cli {

bool has_libtorch() {
  return false;
}

void require_libtorch(const std::string& what) {
  throw NeedsLibtorch(what);
}

std::map<std::string, AddCommand> libtorch_commands() {
  return {{"profile", add_profile}};
}

const run::Learner& learner() {
  using Gradients = std::unique_ptr<worker::GradientSource>;
  using Evaluator = std::unique_ptr<worker::Evaluator>;
  static const run::Learner kNone{
      .gradients = [](const run::Lesson& lesson) -> Gradients {
        throw NeedsLibtorch(lesson.network.text);
      },
      .evaluator = [](const run::Lesson& lesson) -> Evaluator {
        throw NeedsLibtorch(lesson.network.text);
      },
      .layout = [](const Spec& network, const Spec& /*data*/) -> run::Layout {
        throw NeedsLibtorch(network.text);
      }};
  return kNone;
}

run::MeasurePeers measure_peers() {
  return {};
}

runtime_model::DeepWeights fit_to(const std::string& /*model*/,
                                  const runtime_model::Trace& /*trace*/,
                                  const std::string& name) {
  throw NeedsLibtorch("fitting to " + name);
}

}  // namespace outpace::cli
