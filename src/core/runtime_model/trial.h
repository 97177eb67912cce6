// Replays a recorded trace of runtimes, to measure how good a cutoff rule would have been.
//
// The rule sees exactly what a server would have seen: which workers arrived by when, and that the
// others took longer. Its score is
//
//   Omega = sum(gradients) / sum(seconds of the iterations)
//
// The time that a decision takes is part of the iteration. The clock goes on while the rule decides
// whether to stop, and the rule cannot stop before it has made its forecast.
//
// A worker that is cut off either gives up (kCancel) and begins the next iteration with the others,
// or finishes first (kFinish). In that case its late time becomes known, and the time it still
// needs delays it in the next iteration.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime_model/cutoff.h"
#include "runtime_model/forecast_score.h"

namespace outpace::runtime_model {

enum class Cut : std::uint8_t { kCancel, kFinish };

// Seconds by row (iteration) and column (worker).
class Trace {
 public:
  // REQUIRES: positive, finite seconds; `workers` of them in each row.
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
  double seconds;  // How long the iteration took.
  std::uint32_t count;
};

// What happened in a judged iteration.
struct TrialView {
  std::size_t row = 0;
  const Forecast* forecast =
      nullptr;                   // As of the beginning of the iteration; null if there was none.
  std::span<const double> came;  // Seconds of all workers' arrivals, the shortest first.
  TrialRow ended{};
};

struct TrialOptions {
  std::size_t fit_rows =
      0;                // Rows at the start that are shown in full and not judged; fewer than all.
  bool fitted = false;  // The model was fitted to them: they recalibrate nothing.
  Cut cut = Cut::kCancel;
  bool late_corrects = true;  // Whether a late time is shown to the model (kFinish).
  bool reveal = false;  // Whether the model is shown the runtime of each worker that was cut off,
                        // which no server knows.
  // A clock in seconds that advances while a decision is made; null: decisions take no time.
  std::function<double()> clock;
  // The first rows are those of processes that load and compile; the model is not shown them.
  std::size_t warm_up_rows = 5;
  std::function<void(const TrialView&)> watch;  // Called after each judged iteration; may be null.
};

struct TrialResult {
  std::vector<TrialRow> rows;  // The judged iterations.
  double omega = 0.0;          // Gradients per second.
  // Quality of the forecasts (forecast_score.h): how often they fell inside their central
  // intervals, and the continuous ranked probability score in seconds. NaN without forecasts.
  Coverage workers;
  Coverage orders;
  Coverage recalibrated;
  double crps = 0.0;
  double recalibrated_crps = 0.0;
  // Processor seconds per decision.
  double decision_p50 = 0.0;
  double decision_p99 = 0.0;
  double decisions_per_iteration = 0.0;
  std::string believed;  // The model used in most iterations, if several compete.
};

[[nodiscard]] TrialResult try_cutoff(const Trace& trace,
                                     Cutoff& cutoff,
                                     const TrialOptions& options);

// With hindsight, over the rows from `from` on: the result of one fixed count, and the fixed count
// that gives the largest Omega. Workers that are cut off give up.
[[nodiscard]] TrialResult try_fixed(const Trace& trace, std::size_t from, std::uint32_t count);
[[nodiscard]] std::uint32_t best_fixed(const Trace& trace, std::size_t from);
// The best count of each iteration in hindsight, which maximises Omega by Dinkelbach's method.
[[nodiscard]] TrialResult try_oracle(const Trace& trace, std::size_t from);

}  // namespace outpace::runtime_model
