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

void require_libtorch() {}

std::map<std::string, AddCommand> libtorch_commands() {
  return {{"train", add_train},
          {"worker", add_worker},
          {"evaluator", add_evaluator},
          {"peer", add_peer},
          {"profile", add_profile},
          {"fit", add_fit}};
}

Learnt make_learnt(const Spec& network, const Spec& data, std::uint64_t seed) {
  return {.gradients = learn::make_gradient_source(network, data, {.seed = seed}),
          .evaluator = learn::make_evaluator(network, data, {.seed = seed})};
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
