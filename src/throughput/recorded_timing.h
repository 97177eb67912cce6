// Workers at the pace that a record has of them.
//
// A worker's mini-batches take what its recorded iterations took, one after another, while these
// began within four iterations of the simulated time: what was slow for a while is slow at that
// time, whatever a policy does. A simulation that is faster than the record goes back from there
// to those four iterations before, one that is slower ahead to those four after. So those of some
// time are used about equally often: of those under way at a given moment most are long ones.
// Where levels differ, what is read is at that of the time. Beyond the record's end it begins
// again.

#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/cores.h"
#include "sim/timing.h"

namespace outpace::throughput {

// A worker's iterations: when they began, in order, and what each took of its own (own_time.h).
struct Column {
  std::vector<Time> begins;
  std::vector<double> own;         // Seconds, of a full mini-batch.
  std::vector<double> level;       // What lasts of it: levels_of(own), or nothing, if nothing does.
  double processor_seconds = 0.0;  // On top of each, on the processors that are shared.

  // The iteration that began nearest to `time`. REQUIRES: there is one.
  [[nodiscard]] std::size_t nearest(Time time) const;
  // The first that began at `time` or later, or the last of all. REQUIRES: there is one.
  [[nodiscard]] std::size_t first_from(Time time) const;
};

// The median of each and the two on either side, which keeps steps: a slow period has an edge.
[[nodiscard]] std::vector<double> levels_of(const std::vector<double>& own);

// Which moment of the record stands for which of a simulated run: blocks of equal length, drawn or
// in their order.
struct Blocks {
  Duration length{};                 // Of the record; above 0.
  std::vector<std::uint32_t> order;  // The block of the record that each is; at least one.

  [[nodiscard]] Time source(Time time) const;
};

// Who sits where in a simulated cluster.
struct Seat {
  std::uint32_t column = 0;
  Duration shift{};  // Its record is read from so far on: copies must not be slow as one.
};

struct Machine {
  std::uint32_t cores = 0;  // 0: each worker has its own, and the server takes no time.
  double hand_out = 0.0;    // Seconds of the server for a release, one after another.
  double take_in = 0.0;     // Seconds of a processor for a gradient.
};

class RecordedTiming final : public sim::Timing {
 public:
  // `columns` belong to the caller. REQUIRES: every seat's column has iterations; starts never
  // decrease.
  RecordedTiming(const std::vector<Column>& columns,
                 std::vector<Seat> seats,
                 Blocks blocks,
                 const Machine& machine);

  [[nodiscard]] Time finish(WorkerId worker,
                            Time start,
                            double share,
                            std::uint64_t iteration) override;
  [[nodiscard]] double done(WorkerId worker,
                            Time start,
                            Time now,
                            std::uint64_t iteration) override;

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  struct Reader {
    std::size_t next = kNone;  // The recorded iteration after the one that was read last.
    Time ready{};              // When the last mini-batch had its weights.
    double own = 0.0;          // What it takes, in seconds.
    Time end{};                // When it is done,
    Duration needs{};          // and for how long it has a processor before.
  };
  [[nodiscard]] std::size_t next_to_read(const Column& column, const Reader& reader, Time at) const;
  [[nodiscard]] double own_seconds(const Column& column, const Seat& seat, Reader& reader, Time at);

  const std::vector<Column>& columns_;
  const std::vector<Seat> seats_;
  const Blocks blocks_;
  const Machine machine_;
  std::vector<Reader> readers_;  // By seat.
  sim::Cores server_;
  sim::Cores cores_;
};

}  // namespace outpace::throughput
