// What a run's log of decisions begins with, and how a live run's logs are kept, by --decisions.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "job/decisions_kept.h"
#include "job/training.h"
#include "record/decision_log.h"
#include "record/log_parts.h"

namespace outpace::run {

// `policy`: the one in force at the beginning.
[[nodiscard]] inline record::DecisionLogHeader header_of(
    const job::Training& training,
    std::string policy,
    const std::optional<record::GoesOn>& goes_on = std::nullopt) {
  return {.policy = std::move(policy),
          .workers = job::workers_at_most(training),
          .balance = job::balance_in_force(training),
          .local_steps = training.local_steps.value_or(0),
          .may_balance = job::may_balance(training),
          .scale_invariant = job::scale_invariant(training),
          .goes_on = goes_on};
}

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
