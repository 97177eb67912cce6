#include <CLI/CLI.hpp>

#include "cli/libtorch.h"
#include "cli/options.h"
#include "learn/dataset.h"
#include "learn/gradients.h"
#include "learn/network.h"

namespace outpace::cli {

bool has_libtorch() {
  return true;
}

void require_libtorch(const std::string& /*what*/) {}

std::map<std::string, AddCommand> libtorch_commands() {
  return {{"train", add_train}, {"peer", add_peer}, {"profile", add_profile}, {"fit", add_fit}};
}

std::unique_ptr<worker::GradientSource> make_gradients(const Lesson& lesson) {
  return learn::make_gradient_source(
      lesson.network, lesson.data, {lesson.seed, static_cast<int>(lesson.threads)});
}

std::unique_ptr<worker::Evaluator> make_evaluator(const Lesson& lesson) {
  return learn::make_evaluator(
      lesson.network, lesson.data, {lesson.seed, static_cast<int>(lesson.threads)});
}

protocol::Manifest learnt_manifest(const Spec& network, const Spec& data) {
  return learn::network_manifest(network, learn::dataset_shape(data));
}

std::vector<std::string> train_options() {
  CLI::App train;
  (void)add_train(train);
  return option_names(train);
}

}  // namespace outpace::cli
