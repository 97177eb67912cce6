#include "throughput/barrier.h"

#include "base/error.h"
#include "policy/catalogue.h"
#include "policy/switch_spec.h"

namespace outpace::throughput {

Barrier barrier_of(const Spec& policy, std::uint32_t workers) {
  if (policy::waits_for_learning(policy)) {
    throw usage_error(
        "policy '" + policy.text +
        "' needs a loss, an accuracy or gradients, which a prediction has not; name a "
        "policy, or let a switch wait for updates or seconds");
  }
  const std::uint32_t cutoff = policy::make_policy(policy, workers)->nominal_cutoff(workers);
  const BarrierKind kind = policy::barrier_of(policy);
  switch (kind) {
    case BarrierKind::kCutoff:
    case BarrierKind::kRestarting:
      return {kind, cutoff};
    case BarrierKind::kDistinct:
      return {kind, cutoff, policy};
    case BarrierKind::kBoundedStaleness:
    case BarrierKind::kLateOnes:
      return {kind, 0, policy};
    case BarrierKind::kNone:
    case BarrierKind::kBestCutoff:
    case BarrierKind::kChanging:
      break;
  }
  return {kind};
}

bool is_modelled(const Barrier& barrier) {
  return barrier.kind != BarrierKind::kChanging;
}

bool is_out_of_step(BarrierKind kind) {
  switch (kind) {
    case BarrierKind::kNone:
    case BarrierKind::kDistinct:
    case BarrierKind::kBoundedStaleness:
    case BarrierKind::kLateOnes:
      return true;
    case BarrierKind::kCutoff:
    case BarrierKind::kBestCutoff:
    case BarrierKind::kRestarting:
    case BarrierKind::kChanging:
      break;
  }
  return false;
}

}  // namespace outpace::throughput
