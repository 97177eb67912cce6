// Between include/outpace, by which a user's program is a part of a job, and what is behind it:
// errors for those outside, and what they bring, checked.

#pragma once

#include <string>
#include <vector>

#include "base/error.h"
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

}  // namespace outpace::live
