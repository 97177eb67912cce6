#include "cli/libtorch.h"
#include "collective/peer_cost.h"
#include "learn/dataset.h"
#include "learn/gradients.h"
#include "learn/network.h"

namespace outpace::cli {

bool has_libtorch() {
  return true;
}

void require_libtorch(const std::string& /*what*/) {}

std::map<std::string, AddCommand> libtorch_commands() {
  return {{"peer", add_peer}, {"profile", add_profile}, {"fit", add_fit}};
}

const run::Learner& learner() {
  static const run::Learner kLearner{
      .gradients =
          [](const run::Lesson& lesson) {
            return learn::make_gradient_source(
                lesson.network, lesson.data, {lesson.seed, static_cast<int>(lesson.threads)});
          },
      .evaluator =
          [](const run::Lesson& lesson) {
            return learn::make_evaluator(
                lesson.network, lesson.data, {lesson.seed, static_cast<int>(lesson.threads)});
          },
      .layout =
          [](const Spec& network, const Spec& data) {
            const learn::Network made(network, learn::dataset_shape(data));
            return run::Layout{.manifest = made.manifest(), .script = made.script()};
          }};
  return kLearner;
}

run::MeasurePeers measure_peers() {
  return collective::measure_peer_cost;
}

}  // namespace outpace::cli
