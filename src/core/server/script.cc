#include "server/script.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace outpace::server {
namespace {

// The shortest text that is read as the same number again.
std::string text_of(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end.ptr};
}

std::string moments(const protocol::ParameterGroup& group) {
  return ":beta1=" + text_of(group.beta1) + ",beta2=" + text_of(group.beta2) +
         ",epsilon=" + text_of(group.epsilon);
}

std::string rmsprop(const protocol::ParameterGroup& group, const std::string& centered) {
  return "rmsprop:alpha=" + text_of(group.beta2) + ",epsilon=" + text_of(group.epsilon) +
         ",mu=" + text_of(group.momentum) + ",centered=" + centered;
}

std::string spec_of(const protocol::ParameterGroup& group) {
  switch (group.method) {
    case protocol::Method::kSgd:
      break;
    case protocol::Method::kMomentum:
      return "momentum:mu=" + text_of(group.momentum);
    case protocol::Method::kNesterov:
      return "nesterov:mu=" + text_of(group.momentum);
    case protocol::Method::kAdam:
      return "adam" + moments(group);
    case protocol::Method::kAdamW:
      return "adamw" + moments(group);
    case protocol::Method::kLamb:
      return "lamb" + moments(group);
    case protocol::Method::kYellowFin:
      return "yellowfin";
    case protocol::Method::kAverage:
      return "average:mu=" + text_of(group.momentum);
    case protocol::Method::kNewest:
      return "newest";
    case protocol::Method::kByServer:
      break;
    case protocol::Method::kRmsProp:
      return rmsprop(group, "no");
    case protocol::Method::kCenteredRmsProp:
      return rmsprop(group, "yes");
    case protocol::Method::kAdagrad:
      return "adagrad:lr_decay=" + text_of(group.rate_decay) +
             ",initial=" + text_of(group.initial) + ",epsilon=" + text_of(group.epsilon);
    case protocol::Method::kAdadelta:
      return "adadelta:rho=" + text_of(group.beta2) + ",epsilon=" + text_of(group.epsilon);
  }
  return "sgd";
}

bool is_optimizer(const protocol::ParameterGroup& group) {
  using enum protocol::Method;
  return group.method != kAverage && group.method != kNewest && group.method != kByServer;
}

update::Group group_of(const protocol::ParameterGroup& group, const ShardOptions& server) {
  if (group.method == protocol::Method::kByServer) {
    return {.optimizer = server.optimizer, .rate = group.rate, .weight_decay = server.weight_decay};
  }
  return {.optimizer = Spec::parse(spec_of(group)),
          .rate = group.rate,
          .weight_decay = group.weight_decay};
}

}  // namespace

bool brings_optimizer(const protocol::Script& script) {
  return std::ranges::any_of(script.groups, is_optimizer);
}

std::optional<bool> scale_invariant(const protocol::Script& script) {
  const auto group = std::ranges::find_if(script.groups, is_optimizer);
  if (group == script.groups.end()) {
    return std::nullopt;
  }
  const std::string method = Spec::parse(spec_of(*group)).name;
  return update::make_optimizer(Spec::parse(method), 1)->scale_invariant();
}

ShardOptions with_script(ShardOptions options, const protocol::Script& script) {
  if (script.groups.empty()) {
    return options;
  }
  update::Groups groups{.groups = {}, .group_of = script.group_of};
  for (const protocol::ParameterGroup& group : script.groups) {
    groups.groups.push_back(group_of(group, options));
  }
  options.groups = std::move(groups);
  return options;
}

std::string optimizer_in_words(const protocol::Script& script) {
  if (!brings_optimizer(script)) {
    return "";
  }
  const std::size_t groups = script.groups.size();
  return spec_of(script.groups.front()) +
         (groups > 1 ? ", the first of " + std::to_string(groups) + " parameter groups" : "");
}

}  // namespace outpace::server
