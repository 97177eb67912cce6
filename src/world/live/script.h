// Between include/outpace, by which a user's program is a part of a job, and what is behind it:
// errors for those outside, and what they bring, checked.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "live/control.h"
#include "live/worker_session.h"
#include "outpace/worker.h"
#include "protocol/messages.h"

namespace outpace::live {

// Runs what may throw an Error, which is not for those outside.
template <typename Function>
auto for_the_public(Function function) {
  try {
    return function();
  } catch (const Error& error) {
    throw WorkerError(static_cast<int>(error.code()), error.what());
  }
}

inline void require(bool holds, const std::string& message) {
  if (!holds) {
    throw usage_error(message);
  }
}

// Throws a usage error. The server would refuse a wrong one too, but could not say so to the
// program that got it wrong.
[[nodiscard]] protocol::Manifest manifest_of(const std::vector<Parameter>& parameters);
[[nodiscard]] protocol::Script script_of(const ScriptSettings& settings,
                                         const std::vector<Parameter>& parameters);
// Which throws if they are not as many numbers as this.
[[nodiscard]] std::function<std::vector<float>()> checked(
    std::function<std::vector<float>()> initial_weights, std::uint64_t numbers);
// Which throws if a part is not of one of these tensors, or has not as many numbers. Null: as
// given.
[[nodiscard]] std::function<std::vector<BroughtState>()> brought_state(
    std::function<std::vector<OptimizerState>()> state,
    const protocol::Manifest& network,
    bool has_groups);
// The rates of that many groups.
[[nodiscard]] protocol::Rates rates_of(std::uint64_t epoch,
                                       const std::vector<double>& rates,
                                       std::size_t groups);
// In order and each once, for a network of that many tensors.
[[nodiscard]] std::vector<std::uint32_t> without_of(std::vector<std::uint32_t> tensors,
                                                    std::size_t of);

[[nodiscard]] PushOutcome outcome_of(protocol::Outcome outcome);

// What a script asks of its job's server over a connection of its own. Both throw Error, tell()
// also if the server refuses.
void tell(const ControlOptions& server, const protocol::Message& command);
[[nodiscard]] Worker::Evaluated evaluated(const ControlOptions& server, std::uint64_t epoch);

}  // namespace outpace::live
