// Tested by src/live/worker_test.cc.

#include "live/script.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace outpace::live {
namespace {

// In the order of both.
static_assert(static_cast<int>(Method::kByServer) == static_cast<int>(protocol::Method::kByServer));

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
  protocol::Script script{.groups = {}, .group_of = {}, .epochs = settings.epochs};
  const std::size_t groups = settings.groups.size();
  require(groups <= protocol::kGroupsMax,
          "join: at most " + std::to_string(protocol::kGroupsMax) + " groups are possible");
  for (const ParameterGroup& group : settings.groups) {
    check_setting(group.rate, "rate");
    check_setting(group.weight_decay, "weight_decay");
    check_setting(group.momentum, "momentum");
    check_setting(group.beta1, "beta1");
    check_setting(group.beta2, "beta2");
    check_setting(group.epsilon, "epsilon");
    script.groups.push_back({.method = static_cast<protocol::Method>(group.method),
                             .rate = group.rate,
                             .weight_decay = group.weight_decay,
                             .momentum = group.momentum,
                             .beta1 = group.beta1,
                             .beta2 = group.beta2,
                             .epsilon = group.epsilon});
  }
  const auto is = [&settings](Method method) {
    return std::ranges::count(settings.groups, method, &ParameterGroup::method);
  };
  const auto by_server = is(Method::kByServer);
  require(by_server == 0 || by_server + is(Method::kAverage) == std::ssize(settings.groups),
          "join: a group that the server's own optimizer steps goes only with groups that are "
          "averaged");
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

}  // namespace outpace::live
