#include "cli/libtorch.h"

namespace outpace::cli {

bool has_libtorch() {
  return false;
}

void require_libtorch() {
  throw NeedsLibtorch();
}

std::map<std::string, AddCommand> libtorch_commands() {
  return {{"profile", add_profile_of_trace}};
}

std::unique_ptr<worker::GradientSource> make_gradients(const Lesson& /*lesson*/) {
  throw NeedsLibtorch();
}

std::unique_ptr<worker::Evaluator> make_evaluator(const Lesson& /*lesson*/) {
  throw NeedsLibtorch();
}

protocol::Manifest learnt_manifest(const Spec& /*network*/, const Spec& /*data*/) {
  throw NeedsLibtorch();
}

runtime_model::DeepWeights fit_to(const runtime_model::Trace& /*trace*/,
                                  const std::string& /*name*/) {
  throw NeedsLibtorch();
}

std::vector<std::string> train_options() {
  throw NeedsLibtorch();
}

void check_train(const std::vector<std::string>& /*words*/) {
  throw NeedsLibtorch();
}

}  // namespace outpace::cli
