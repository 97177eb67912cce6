#include "throughput/waiting.h"

#include <algorithm>
#include <string>
#include <vector>

#include "policy/catalogue.h"
#include "policy/switch_spec.h"

namespace outpace::throughput {
namespace {

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Coordination coordination_of(const Spec& policy, std::uint32_t workers) {
  const Spec first = policy::phases_of(policy).front().policy;
  const std::uint32_t cutoff = policy::make_policy(first, workers)->nominal_cutoff(workers);
  if (first.name == "dynamic") {
    return {Waits::kBestCutoff};
  }
  if (is_one_of(first.name, {"sync", "backup", "ksync"})) {
    return {Waits::kCutoff, cutoff};
  }
  if (first.name == "kbatchsync") {
    return {Waits::kRestarting, cutoff};
  }
  return {is_one_of(first.name, {"ssp", "dssp", "psp"}) ? Waits::kSlowest : Waits::kNobody};
}

}  // namespace outpace::throughput
