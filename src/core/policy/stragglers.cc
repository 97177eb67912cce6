#include "policy/stragglers.h"

#include "policy/catalogue.h"

namespace outpace::policy {

Stragglers stragglers_of(const Spec& policy) {
  switch (barrier_of(policy)) {
    case BarrierKind::kCutoff:
      return waits_for_all(promise_of(policy)) ? Stragglers::kAwaited : Stragglers::kCutOff;
    case BarrierKind::kBestCutoff:
    case BarrierKind::kRestarting:
      return Stragglers::kCutOff;
    case BarrierKind::kNone:
    case BarrierKind::kLateOnes:
      return Stragglers::kGoOn;
    case BarrierKind::kDistinct:
    case BarrierKind::kBoundedStaleness:
    case BarrierKind::kChanging:
      break;
  }
  return Stragglers::kPartlyWait;
}

}  // namespace outpace::policy
