// How long an iteration would have taken with nobody else on the machine's processors.
//
// Live workers of one machine meet at two places. The server hands weights out one after another,
// and whoever computes shares the processors: n computations on c processors go on at min(1, c / n)
// of their speed (processor sharing; Kleinrock, Queueing Systems 2, 1976, section 4.4). Both can be
// turned back: processor sharing is the same forwards and backwards in time, so the moments at
// which computations ended, and what each needed, say when they began. What lies between a worker
// having its weights and its computation's begin is its own: no other worker made it longer.

#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "record/recorded_run.h"

namespace outpace::throughput {

// A computation on shared processors.
struct Computation {
  Time end;
  double seconds;  // That it takes alone; at least 0.
};

// When each began. REQUIRES: cores >= 1.
[[nodiscard]] std::vector<Time> begins_of(const std::vector<Computation>& computations,
                                          std::uint32_t cores);

// Of the server's time for a gradient one half is for taking it in, at its end, and one for handing
// the next weights out: there is no record of how much is which.
inline constexpr double kHandOutShare = 0.5;

// By worker and iteration: its own time in seconds, of a full mini-batch, without what it computes;
// at least 0. Where the processors are not known, or the worker is elsewhere: all of its runtime.
// One that was cut off would have taken as long as the whole one before it (else the one after it),
// or as long as it did take, if that is more: a delay is not in proportion to what was computed.
[[nodiscard]] std::vector<std::vector<double>> own_times(const record::RecordedRun& run);

}  // namespace outpace::throughput
