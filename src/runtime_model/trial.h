// How good would the cutoffs have been: a recorded trace of runtimes is lived through again.
//
// The rule under trial sees what a server would have seen and nothing else: who arrived by when,
// and of the others that they took longer. What it does counts by
//
//   Omega = sum(gradients) / sum(seconds of the iterations)
//
// and the time that it takes to decide is part of an iteration: while it thinks about whether to
// stop, the clock goes on, and before it has forecast it cannot stop.
//
// A worker that is cut off gives up (kCancel) and begins the next iteration with all others, or
// finishes first (kFinish): then its late time is known, and what it still needs delays it in the
// next iteration.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime_model/cutoff.h"

namespace outpace::runtime_model {

enum class Cut : std::uint8_t { kCancel, kFinish };

// Seconds by row (iteration) and column (worker).
class Trace {
 public:
  // REQUIRES: positive, finite seconds, `workers` in each row.
  Trace(std::vector<double> seconds, std::uint32_t workers);

  [[nodiscard]] std::uint32_t workers() const { return workers_; }
  [[nodiscard]] std::size_t rows() const { return seconds_.size() / workers_; }
  [[nodiscard]] std::span<const double> row(std::size_t i) const {
    return {seconds_.data() + i * workers_, workers_};
  }
  // REQUIRES: 1 <= count <= rows().
  [[nodiscard]] Trace first_rows(std::size_t count) const;

 private:
  std::vector<double> seconds_;
  std::uint32_t workers_;
};

struct TrialRow {
  double seconds;  // Of the iteration.
  std::uint32_t count;
};

// An iteration that is judged, as it went.
struct TrialView {
  std::size_t row = 0;
  const Forecast* forecast = nullptr;  // As it was when the iteration began; null: there was none.
  std::span<const double> came;        // Seconds of all workers' arrivals, the shortest first.
  TrialRow ended{};
};

struct TrialOptions {
  std::size_t fit_rows = 0;  // Seen whole, and not judged; less than there are.
  Cut cut = Cut::kCancel;
  bool late_corrects = true;  // A late time is shown to the model (kFinish).
  // Seconds on any clock that goes on while a decision is made; null: decisions take no time.
  std::function<double()> clock;
  std::function<void(const TrialView&)> watch;  // Of each iteration that is judged; may be null.
};

struct TrialResult {
  std::vector<TrialRow> rows;  // Those that are judged.
  double omega = 0.0;          // Gradients a second.
  // Of forecasts of all order statistics: how often they were within their central intervals, and
  // the continuous ranked probability score in seconds (Gneiting & Raftery 2007). NaN without
  // forecasts.
  double coverage50 = 0.0;
  double coverage90 = 0.0;
  double crps = 0.0;
  // Seconds of the processor: of each decision, and of all in an iteration.
  double decision_p50 = 0.0;
  double decision_p99 = 0.0;
  double decisions_per_iteration = 0.0;
  std::string believed;  // The model that was believed in most iterations, where there are several.
};

[[nodiscard]] TrialResult try_cutoff(const Trace& trace,
                                     Cutoff& cutoff,
                                     const TrialOptions& options);

// Omega with hindsight, over the rows from `from` on, where who is cut off gives up.
[[nodiscard]] TrialResult try_fixed(const Trace& trace, std::size_t from, std::uint32_t count);
[[nodiscard]] std::uint32_t best_fixed(const Trace& trace, std::size_t from);
// The best count of each iteration: the ratio's maximum by Dinkelbach's method.
[[nodiscard]] TrialResult try_oracle(const Trace& trace, std::size_t from);

}  // namespace outpace::runtime_model
