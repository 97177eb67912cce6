// Stragglers on demand: when the mini-batch that a worker began is done, as a trace of delays says.
//
// A trace has a column for each worker; a value is the seconds that a full mini-batch takes there,
// on top of the real computing. By iteration, each worker walks down its column with its own
// iterations. By time, the row is that of the run's clock, the same for all workers: a slow period
// goes on while workers wait, and the rate changes in the middle of a mini-batch.
// Rows wrap round. Pure: the worker's loop does the sleeping.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace outpace::worker {

// The most that one mini-batch may be delayed, and the most that --slow may multiply.
inline constexpr double kDelaySecondsMax = 1e6;
inline constexpr double kSlowFactorMax = 1e3;

// Delays in seconds: at least one row, and in each the same number of columns.
class DelayTrace {
 public:
  // Reads rows of comma-separated numbers; blank lines and lines that start with # say nothing.
  // Throws a usage error such as "delays.csv:17: column 3 is 'abc'; ...", with `name` for the file.
  static DelayTrace parse(std::string_view text, const std::string& name, std::size_t workers);

  [[nodiscard]] std::size_t workers() const { return workers_; }
  [[nodiscard]] std::size_t rows() const { return seconds_.size() / workers_; }
  // One worker's delays, a row each. REQUIRES: index(worker) < workers().
  [[nodiscard]] std::vector<double> column(WorkerId worker) const;

 private:
  explicit DelayTrace(std::size_t workers) : workers_(workers) {}
  void append(std::string_view line, const std::string& place);

  std::size_t workers_;
  std::vector<double> seconds_;  // Row by row.
};

// "worker=3,factor=4": this worker takes four times as long.
struct Slow {
  WorkerId worker;
  double factor;  // At least 1.

  // Throws a usage error. REQUIRES: workers >= 1.
  static Slow parse(std::string_view text, std::size_t workers);
  bool operator==(const Slow&) const = default;
};
// The product of the factors that name the worker, 1 if none does.
[[nodiscard]] double slow_factor(std::span<const Slow> slow, WorkerId worker);

enum class DelaysBy : std::uint8_t { kTime, kIteration };

struct PaceOptions {
  DelaysBy by = DelaysBy::kTime;
  Duration period = std::chrono::milliseconds(20);  // How long a row lasts, by time. At least 1 ns.
  double factor = 1.0;                              // From slow_factor().
};

// One worker's pace. A share is a fraction of a full mini-batch; one above 1 is a larger batch.
class Pace {
 public:
  // Without a trace: nothing is delayed but by the factor, in extra_seconds().
  explicit Pace(const PaceOptions& options);
  // The factor multiplies the trace's delays. REQUIRES: index(worker) < trace.workers().
  Pace(const DelayTrace& trace, WorkerId worker, const PaceOptions& options);

  // When a share begun at `start` is done: the first time at which done() is at least the share.
  // REQUIRES: share >= 0 and finite.
  [[nodiscard]] Time finish(Time start, double share, std::uint64_t iteration) const;
  // The share done by `now` of what was begun at `start`: 0 up to `start`, and infinite as soon as
  // the delay is zero, so compare it with what there was to do before making it a count.
  [[nodiscard]] double done(Time start, Time now, std::uint64_t iteration) const;

  // How much longer than the real computing a slowed worker without a trace takes; with a trace 0.
  [[nodiscard]] double extra_seconds(double compute_seconds) const;

 private:
  [[nodiscard]] double done_by_time(Time start, Time now) const;
  [[nodiscard]] double work_before(std::size_t row, Duration into_row) const;
  [[nodiscard]] bool meets_zero_delay(Time start, Time now) const;

  DelaysBy by_;
  Duration period_;
  double factor_;
  std::vector<double> delays_;  // Seconds a mini-batch; empty without a trace.
  // Mini-batches done from the cycle's begin to row i's, rows of zero delay left out; one more
  // element than rows.
  std::vector<double> work_;
  std::vector<std::size_t> next_zero_;  // Rows from i to the next of zero delay, wrapping round;
                                        // rows() + 1 if there is none.
};

}  // namespace outpace::worker
