// What a policy promises about its decisions: invariants/decisions.h holds every run to it, and the
// tests of all policies do.

#pragma once

#include <cstdint>

#include "base/spec.h"

namespace outpace::policy {

// Gradients that an update waits for.
enum class Awaits : std::uint8_t {
  kAny,      // As many as the policy likes.
  kOne,      // Each gradient is an update.
  kSplits,   // The number of live workers, divided by `gradients`.
  kBatches,  // `gradients`, from any workers.
  kRound,    // `gradients`; fewer only when no worker computes.
  kWorkers   // `gradients`, or as many as can still come if that is fewer.
};

inline constexpr std::uint64_t kUnbounded = UINT64_MAX;

struct Promise {
  Awaits awaits;
  std::uint64_t gradients = kUnbounded;
  std::uint64_t staleness_most = kUnbounded;  // The most of a gradient that counts.
  bool staleness_by_workers = false;      // At most 2 (W - 1), of W live workers; and 1 is allowed.
  std::uint64_t ahead_most = kUnbounded;  // In iterations, of the slowest.
};

// Whether each update takes a gradient of every worker.
[[nodiscard]] constexpr bool waits_for_all(const Promise& promise) {
  return promise.awaits == Awaits::kWorkers && promise.gradients == kUnbounded;
}

// Promises for the catalogue. REQUIRES: make_policy() accepts the spec.
namespace promises {

template <Awaits awaits>
[[nodiscard]] Promise only(const Spec& /*spec*/) {
  return {.awaits = awaits};
}
// An update waits for the number of gradients that is the policy's first option.
[[nodiscard]] std::uint64_t first_option(const Spec& spec);
template <Awaits awaits>
[[nodiscard]] Promise counted(const Spec& spec) {
  return {.awaits = awaits, .gradients = first_option(spec)};
}
// As above, and in rounds: nothing is stale.
template <Awaits awaits>
[[nodiscard]] Promise counted_in_rounds(const Spec& spec) {
  return {.awaits = awaits, .gradients = first_option(spec), .staleness_most = 0};
}
// A round of all workers.
[[nodiscard]] Promise sync(const Spec& spec);
// Rounds that wait for as many workers as they like.
[[nodiscard]] Promise dynamic(const Spec& spec);
[[nodiscard]] Promise adasync(const Spec& spec);
[[nodiscard]] Promise ssp(const Spec& spec);
[[nodiscard]] Promise dssp(const Spec& spec);
[[nodiscard]] Promise saps(const Spec& spec);

}  // namespace promises
}  // namespace outpace::policy
