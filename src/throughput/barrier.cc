#include "throughput/barrier.h"

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

Barrier barrier_of(const Spec& policy, std::uint32_t workers) {
  const Spec first = policy::phases_of(policy).front().policy;
  const std::uint32_t cutoff = policy::make_policy(first, workers)->nominal_cutoff(workers);
  if (first.name == "dynamic") {
    return {BarrierKind::kBestCutoff};
  }
  if (is_one_of(first.name, {"sync", "backup", "ksync"})) {
    return {BarrierKind::kCutoff, cutoff};
  }
  if (first.name == "kbatchsync") {
    return {BarrierKind::kRestarting, cutoff};
  }
  return {is_one_of(first.name, {"ssp", "dssp", "psp"}) ? BarrierKind::kBoundedStaleness
                                                        : BarrierKind::kNone};
}

}  // namespace outpace::throughput
