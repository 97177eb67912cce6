// How a live run's logs of decisions are kept, by --decisions.

#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "job/decisions_kept.h"
#include "record/log_parts.h"

namespace outpace::run {

// The host's and each worker's.
[[nodiscard]] constexpr std::uint32_t logs_of_peers(std::uint32_t workers) {
  return workers + 1;
}

// Nothing: none is. `logs`: of all processes, which share the size.
[[nodiscard]] inline std::optional<record::DecisionLogOptions> options_of(
    const job::DecisionsKept& kept,
    std::uint32_t logs,
    record::GapTold told,
    record::WriteQueue& queue) {
  using How = job::DecisionsKept::How;
  if (kept.how == How::kOff) {
    return std::nullopt;
  }
  return record::DecisionLogOptions{
      .every = kept.how == How::kSampled ? kept.every : 1,
      .bytes_max = kept.how == How::kCapped ? (kept.mib << 20U) / logs : 0,
      .told = std::move(told),
      .queue = &queue};
}

}  // namespace outpace::run
