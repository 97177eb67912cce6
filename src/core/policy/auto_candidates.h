// What `auto` chooses among. The first runs at the beginning: it loses little anywhere.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "policy/balance.h"

namespace outpace::policy {

inline constexpr const char* kAuto = "auto";

// Which equation of progress.h says how much to expect of a candidate.
enum class AutoEstimate : std::uint8_t {
  kOfAll,
  kByDeadlineOfGradients,
  kByDeadlineOfProgress,
  kOfEach,
  kOfEachInTime,
  kInStep
};

struct AutoCandidate {
  std::string_view policy;
  AutoEstimate estimate;
  // As AutoChoice's options.
  double doubt = 1.0;
  bool tried = false;
  // Mini-batches are in proportion to the workers' speeds (balanced.h).
  bool balance = false;
};

// What staleness costs is known by a bound alone. Without this doubt `dynamic` was left for `saps`
// among ten workers that are nearly alike, and the target was reached up to a third later.
inline constexpr double kDoubtOfStaleness = 1.15;
// Nothing bounds what a worker that becomes slow costs.
inline constexpr double kDoubtOfSync = 1.1;
inline constexpr std::uint32_t kAutoAhead = 3;  // The bound of ssp:s=3.
// As far as it balances unless it is told. Less than under --balance: nobody asked for more memory
// on the workers.
inline constexpr BalanceOptions kAutoBalance{.most = 2.0};

// Each has its default staleness rule. How many backups there are is chosen by `dynamic`. What
// transfers take where nobody waits, `saps` shows for all of its kind: it is tried. With --balance
// all have balanced mini-batches, and the last is left out.
inline constexpr std::array<AutoCandidate, 7> kAutoCandidates{
    {{"dynamic", AutoEstimate::kByDeadlineOfGradients},
     {"dynamic:objective=progress", AutoEstimate::kByDeadlineOfProgress},
     {"sync", AutoEstimate::kOfAll, kDoubtOfSync},
     {"saps", AutoEstimate::kOfEachInTime, kDoubtOfStaleness, /*tried=*/true},
     {"async", AutoEstimate::kOfEach, kDoubtOfStaleness},
     {"ssp:s=3", AutoEstimate::kInStep, kDoubtOfStaleness},
     {"dynamic", AutoEstimate::kByDeadlineOfGradients, 1.0, /*tried=*/false, /*balance=*/true}}};

}  // namespace outpace::policy
