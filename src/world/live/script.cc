// Tested by src/world/live/worker_test.cc.

#include "live/script.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

namespace outpace::live {
namespace {

// In the order of both.
static_assert(static_cast<int>(Method::kByServer) == static_cast<int>(protocol::Method::kByServer));
static_assert(static_cast<int>(Method::kNewest) == static_cast<int>(protocol::kLastMethod));

void check_setting(double value, const std::string& name) {
  require(std::isfinite(value) && value >= 0.0,
          "join: a parameter group's " + name + " is " + std::to_string(value) +
              "; it is finite and at least 0");
}

}  // namespace

protocol::Manifest manifest_of(const std::vector<Parameter>& parameters) {
  require(!parameters.empty(), "join: there are no parameters to train");
  require(parameters.size() <= protocol::kTensorsMax,
          "join: at most " + std::to_string(protocol::kTensorsMax) + " parameters are possible");
  protocol::Manifest manifest;
  std::set<std::string> names;
  double numbers = 0;  // A product of extents may be more than any integer holds.
  for (const Parameter& parameter : parameters) {
    const std::string which = "join: parameter '" + parameter.name + "' ";
    require(!parameter.name.empty() && parameter.name.size() <= protocol::kTextMax,
            which + "needs a name of at most " + std::to_string(protocol::kTextMax) + " bytes");
    require(names.insert(parameter.name).second, which + "is named twice");
    require(parameter.shape.size() <= protocol::kTensorRankMax,
            which + "has more than " + std::to_string(protocol::kTensorRankMax) + " dimensions");
    double product = 1;
    for (const std::uint64_t extent : parameter.shape) {
      require(extent >= 1, which + "has an extent of 0");
      product *= static_cast<double>(extent);
    }
    numbers += product;
    require(
        numbers <= static_cast<double>(protocol::kWeightsMax),
        which + "takes the weights beyond " + std::to_string(protocol::kWeightsMax) + " numbers");
    manifest.tensors.push_back({.name = parameter.name, .shape = parameter.shape});
  }
  return manifest;
}

protocol::Script script_of(const ScriptSettings& settings,
                           const std::vector<Parameter>& parameters) {
  require(
      settings.local_steps == 0 || std::ranges::all_of(settings.groups,
                                                       [](const ParameterGroup& group) {
                                                         return group.method == Method::kByServer ||
                                                                group.method == Method::kAverage ||
                                                                group.method == Method::kNewest;
                                                       }),
      "join: with local steps the server has an optimizer of its own; groups may have "
      "kByServer, kAverage and kNewest alone");
  protocol::Script script{.groups = {}, .group_of = {}, .epochs = settings.epochs};
  const std::size_t groups = settings.groups.size();
  require(groups <= protocol::kGroupsMax,
          "join: at most " + std::to_string(protocol::kGroupsMax) + " groups are possible");
  require(
      settings.ahead <= protocol::kAheadMax,
      "join: at most " + std::to_string(protocol::kAheadMax) + " mini-batches can be loaded early");
  for (const ParameterGroup& group : settings.groups) {
    check_setting(group.rate, "rate");
    check_setting(group.weight_decay, "weight_decay");
    check_setting(group.momentum, "momentum");
    check_setting(group.beta1, "beta1");
    check_setting(group.beta2, "beta2");
    check_setting(group.epsilon, "epsilon");
    check_setting(group.rate_decay, "rate_decay");
    check_setting(group.initial, "initial");
    script.groups.push_back({.method = static_cast<protocol::Method>(group.method),
                             .rate = group.rate,
                             .weight_decay = group.weight_decay,
                             .momentum = group.momentum,
                             .beta1 = group.beta1,
                             .beta2 = group.beta2,
                             .epsilon = group.epsilon,
                             .rate_decay = group.rate_decay,
                             .initial = group.initial});
  }
  const auto is = [&settings](Method method) {
    return std::ranges::count(settings.groups, method, &ParameterGroup::method);
  };
  const auto by_server = is(Method::kByServer);
  const auto buffers = is(Method::kAverage) + is(Method::kNewest);
  require(by_server == 0 || by_server + buffers == std::ssize(settings.groups),
          "join: a group that the server's own optimizer steps goes only with groups of buffers");
  for (const Parameter& parameter : parameters) {
    require(parameter.group < groups || (groups == 0 && parameter.group == 0),
            "join: parameter '" + parameter.name + "' is of group " +
                std::to_string(parameter.group) + ", and there are " + std::to_string(groups));
    if (groups > 0) {
      script.group_of.push_back(parameter.group);
    }
  }
  return script;
}

std::function<std::vector<float>()> checked(std::function<std::vector<float>()> initial_weights,
                                            std::uint64_t numbers) {
  return [initial_weights = std::move(initial_weights), numbers] {
    std::vector<float> weights = initial_weights();
    require(weights.size() == numbers,
            "join: there are " + std::to_string(weights.size()) +
                " initial weights, the parameters hold " + std::to_string(numbers));
    return weights;
  };
}

std::function<std::vector<BroughtState>()> brought_state(
    std::function<std::vector<OptimizerState>()> state,
    const protocol::Manifest& network,
    bool has_groups) {
  if (!state) {
    return nullptr;
  }
  require(has_groups, "join: a state of optimizers takes groups, which say the optimizers");
  return [state = std::move(state), network] {
    std::vector<BroughtState> brought;
    for (OptimizerState& part : state()) {
      require(part.tensor < network.tensors.size(),
              "join: a state is of tensor " + std::to_string(part.tensor) + ", there are " +
                  std::to_string(network.tensors.size()));
      const std::uint64_t numbers = network.tensors[part.tensor].numbers();
      require(part.numbers.size() == numbers,
              "join: '" + part.part + "' of tensor " + std::to_string(part.tensor) + " has " +
                  std::to_string(part.numbers.size()) + " numbers, the tensor " +
                  std::to_string(numbers));
      brought.push_back(
          {.of = {.tensor = part.tensor, .updates = part.updates, .part = std::move(part.part)},
           .numbers = std::move(part.numbers)});
    }
    return brought;
  };
}

protocol::Rates rates_of(std::uint64_t epoch,
                         const std::vector<double>& rates,
                         std::size_t groups) {
  require(rates.size() == groups && groups > 0,
          "set_rates: " + std::to_string(rates.size()) + " rates, and join() had " +
              std::to_string(groups) + " groups");
  for (const double rate : rates) {
    require(std::isfinite(rate) && rate >= 0.0,
            "set_rates: a rate is " + std::to_string(rate) + "; it is finite and at least 0");
  }
  return {.epoch = epoch, .rates = rates};
}

std::vector<std::uint32_t> without_of(std::vector<std::uint32_t> tensors, std::size_t of) {
  std::ranges::sort(tensors);
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  require(tensors.empty() || tensors.back() < of,
          "without: there is no tensor " + (tensors.empty() ? "" : std::to_string(tensors.back())) +
              ", join() had " + std::to_string(of));
  return tensors;
}

PushOutcome outcome_of(protocol::Outcome outcome) {
  switch (outcome) {
    case protocol::Outcome::kAccepted:
      return PushOutcome::kAccepted;
    case protocol::Outcome::kDropped:
      return PushOutcome::kDropped;
    case protocol::Outcome::kRefused:
      break;
  }
  return PushOutcome::kRefused;
}

void tell(const ControlOptions& server, const protocol::Message& command) {
  const protocol::Message said = ask(server, command);
  const auto* answer = std::get_if<protocol::Answer>(&said);
  if (answer != nullptr && answer->code != ExitCode::kDone) {
    throw Error(answer->code, answer->text);
  }
}

Worker::Evaluated evaluated(const ControlOptions& server, std::uint64_t epoch) {
  const protocol::Message said = ask(server, protocol::AskEvaluated{.epoch = epoch});
  const auto* told = std::get_if<protocol::Evaluated>(&said);
  if (told == nullptr || !told->found) {
    return {.comes = told != nullptr && told->comes, .version = 0, .found = {}};
  }
  const protocol::Measurement& found = *told->found;
  Measured measured{.accuracy = found.accuracy, .loss = found.loss, .values = {}};
  for (const protocol::NamedValue& value : found.values) {
    measured.values.emplace_back(value.name, value.value);
  }
  return {.comes = false, .version = count(found.version), .found = std::move(measured)};
}

}  // namespace outpace::live
