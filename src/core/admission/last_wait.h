// How long an ended run waits for the measurement of its final weights.
//
// The wait is a minute, or ten seconds for a run that was interrupted: that may be killed within
// the minute. A script may ask for an evaluator as late as the end of its only epoch, or after its
// last one. The run waits five seconds for that question.

#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace outpace::admission {

struct RunEnd {
  Time trained;  // The final weights were ready.
  bool interrupted = false;
  bool hurries = false;   // A stop was asked for after the end.
  bool measures = false;  // An evaluator has weights to measure, or one is on its way.
  bool may_ask = false;   // A script may still ask for an evaluator.
  Time asked_at{};        // When one did.
};

struct LastWait {
  std::optional<Time> until;  // Nothing: the run waits no longer.
  std::string warning;        // What is missing where it waits no longer; may be empty.
};

[[nodiscard]] LastWait last_wait(Time now, const RunEnd& end);

}  // namespace outpace::admission
