#include "cli/libtorch.h"

namespace outpace::cli {

bool has_libtorch() {
  return false;
}

void require_libtorch(const std::string& what) {
  throw NeedsLibtorch(what);
}

std::map<std::string, AddCommand> libtorch_commands() {
  return {{"profile", add_profile_of_trace}};
}

std::unique_ptr<worker::GradientSource> make_gradients(const Lesson& lesson) {
  throw NeedsLibtorch(lesson.network.text);
}

std::unique_ptr<worker::Evaluator> make_evaluator(const Lesson& lesson) {
  throw NeedsLibtorch(lesson.network.text);
}

protocol::Manifest learnt_manifest(const Spec& network, const Spec& /*data*/) {
  throw NeedsLibtorch(network.text);
}

runtime_model::DeepWeights fit_to(const runtime_model::Trace& /*trace*/, const std::string& name) {
  throw NeedsLibtorch("fitting to " + name);
}

std::vector<std::string> train_options() {
  throw NeedsLibtorch("train");
}

void check_train(const std::vector<std::string>& /*words*/) {
  throw NeedsLibtorch("train");
}

}  // namespace outpace::cli
