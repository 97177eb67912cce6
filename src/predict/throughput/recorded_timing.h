// Worker timing that replays a run's record.
//
// A worker's mini-batches take as long as its recorded iterations, one after another, as long as
// these began within four iterations of the simulated time. A phase that was slow in the run is
// thus slow at the same time in the simulation, whatever the policy. A simulation that gets ahead
// of the record goes back to four iterations before the simulated time; one that falls behind skips
// to four iterations after it. So the iterations of a phase are used about equally often. Picking
// the iteration under way at a given moment would prefer long ones. If the level of the iteration
// differs from the level at the simulated time, its time is scaled. The record starts over at its
// end.
//
// Under local steps a recorded iteration is a phase of several mini-batches, which take equally
// long. A worker that is cut off finishes the mini-batch that it is at.

#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/cores.h"
#include "sim/timing.h"

namespace outpace::throughput {

// A worker's iterations: when each began, in order, and its own time (own_time.h).
struct Column {
  std::vector<Time> begins;
  std::vector<double> own;  // Seconds for a full mini-batch, or for a full phase of local steps.
  // The persistent part of it, by levels_of(own); empty if nothing persists.
  std::vector<double> level;
  double processor_seconds = 0.0;  // In addition, on shared processors, per mini-batch.

  // The iteration that began nearest to `time`. REQUIRES: not empty.
  [[nodiscard]] std::size_t nearest(Time time) const;
  // The first iteration that began at `time` or later, or the last one. REQUIRES: not empty.
  [[nodiscard]] std::size_t first_from(Time time) const;
};

// The median of each iteration and the two on either side. Unlike a mean, it keeps the edges of a
// slow phase.
[[nodiscard]] std::vector<double> levels_of(const std::vector<double>& own);

// Maps simulated time to record time, in blocks of equal length that are resampled or in their own
// order.
struct Blocks {
  Duration length{};  // The record's length; above 0.
  // The block of the record that each block of simulated time uses; at least one.
  std::vector<std::uint32_t> order;

  [[nodiscard]] Time source(Time time) const;
};

// The record that a simulated worker uses.
struct Seat {
  std::uint32_t column = 0;
  // Offset into the record, so that copies of a worker are not slow at the same time.
  Duration shift{};
};

struct Machine {
  // 0: each worker has a processor to itself, and the server takes no time.
  std::uint32_t cores = 0;
  double hand_out = 0.0;  // Seconds of the server per release, one after another.
  double take_in = 0.0;   // Seconds of a processor per gradient.
};

class RecordedTiming final : public sim::Timing {
 public:
  // `columns` belong to the caller. `local_steps`: mini-batches of a full phase; 0: none are made.
  // REQUIRES: the column of every seat has iterations; starts never decrease; local steps have a
  // machine whose cores are 0.
  RecordedTiming(const std::vector<Column>& columns,
                 std::vector<Seat> seats,
                 Blocks blocks,
                 const Machine& machine,
                 std::uint32_t local_steps = 0);

  [[nodiscard]] Time finish(WorkerId worker,
                            Time start,
                            double share,
                            std::uint64_t iteration) override;
  [[nodiscard]] double done(WorkerId worker,
                            Time start,
                            Time now,
                            std::uint64_t iteration) override;
  [[nodiscard]] Time finish_part(
      WorkerId worker, Time start, Time now, double share, std::uint64_t iteration) override;

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  struct Reader {
    std::size_t next = kNone;  // The recorded iteration after the last one used.
    Time ready{};              // When the last mini-batch had its weights.
    double own = 0.0;          // Its own time, in seconds.
    Time end{};                // When it is done.
    Duration needs{};          // The processor time it needs before that.
  };
  [[nodiscard]] std::size_t next_to_read(const Column& column, const Reader& reader, Time at) const;
  [[nodiscard]] double own_seconds(const Column& column, const Seat& seat, Reader& reader, Time at);

  const std::vector<Column>& columns_;
  const std::vector<Seat> seats_;
  const Blocks blocks_;
  const Machine machine_;
  const double batches_;         // Full mini-batches in what a column has as one.
  std::vector<Reader> readers_;  // By seat.
  sim::Cores server_;
  sim::Cores cores_;
};

}  // namespace outpace::throughput
