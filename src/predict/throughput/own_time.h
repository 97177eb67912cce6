// How long an iteration would have taken if the worker had the machine to itself.
//
// Live workers on one machine compete in two places. The server hands out weights one worker at a
// time, and computing workers share the processors: n computations on c processors run at min(1, c
// / n) of full speed (processor sharing; Kleinrock, Queueing Systems 2, 1976, section 4.4). Both
// can be undone. Processor sharing is the same forwards and backwards in time, so the end and the
// need of every computation determine when each began. The time between receiving weights and
// beginning to compute is the worker's own, because no other worker lengthens it.

#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "policy/recorded_run.h"

namespace outpace::throughput {

// A computation on shared processors.
struct Computation {
  Time end;
  double seconds;  // On its own; at least 0.
};

// When each computation began. REQUIRES: cores >= 1.
[[nodiscard]] std::vector<Time> begins_of(const std::vector<Computation>& computations,
                                          std::uint32_t cores);

// Share of the server's time for a gradient that goes to handing out the next weights; the rest is
// for receiving it. The record does not have the split, so half is assumed.
inline constexpr double kHandOutShare = 0.5;

// Seconds of the two messages of a phase of local steps, as much as all workers have. They are
// apart from own times, because a part has them as a whole phase has, and so has a worker that is
// told to stop. 0 without local steps, or where they are not known.
[[nodiscard]] double message_seconds(const policy::RecordedRun& run);

// By worker and iteration: its own time in seconds, of a full mini-batch, without what it computes;
// at least 0. Where the processors are not known, or the worker is elsewhere: all of its runtime.
// One that was cut off would have taken as long as the whole one before it (else the one after it),
// or as long as it did take, if that is more: a delay is not in proportion to what was computed. A
// phase of local steps is, but for its messages: it ends with a mini-batch.
[[nodiscard]] std::vector<std::vector<double>> own_times(const policy::RecordedRun& run);

}  // namespace outpace::throughput
