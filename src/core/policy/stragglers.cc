#include "policy/stragglers.h"

#include <algorithm>
#include <string>

namespace outpace::policy {
namespace {

Stragglers of_rule(const std::string& name) {
  if (name == "sync") {
    return Stragglers::kAwaited;
  }
  if (name == "backup" || name == "dynamic" || name == "ksync" || name == "kbatchsync") {
    return Stragglers::kCutOff;
  }
  const bool free =
      name == "async" || name == "softsync" || name == "kbatchasync" || name == "saps";
  return free ? Stragglers::kGoOn : Stragglers::kPartlyWait;
}

}  // namespace

Stragglers stragglers_of(const Spec& policy) {
  if (policy.name != "adasync") {
    return of_rule(policy.name);
  }
  const auto rule = std::find_if(policy.options.begin(), policy.options.end(), [](const auto& one) {
    return one.first == "rule";
  });
  return of_rule(rule == policy.options.end() ? "kasync" : rule->second);
}

}  // namespace outpace::policy
