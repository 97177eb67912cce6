// The predictive distribution of every worker's next runtime, given all that was observed.
//
// A table of workers x bins: P(runtime <= edge of the bin). Within an iteration it is conditioned
// on what is known by then: who has arrived is no longer asked about, and of who has not, that its
// runtime is longer than what has passed (survival).
//
//   P(x_w <= t | x_w > s) = (F_w(t) - F_w(s)) / (1 - F_w(s))
//
// What makes all workers slow or fast together in this very iteration, a full network say, is a
// shift of log seconds that they have in common. It may be one of several, each with a chance;
// given the past and the shift, workers are independent.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/time_grid.h"

namespace outpace::runtime_model {

class Forecast {
 public:
  // Keeps its memory. Every worker's row is to be set afterwards.
  void reset(const TimeGrid& grid, std::uint32_t workers);

  [[nodiscard]] const TimeGrid& grid() const { return grid_; }
  [[nodiscard]] std::uint32_t workers() const { return workers_; }

  // P(runtime <= edge i), i = 0..bins; never falls, and ends at 1.
  [[nodiscard]] std::span<float> row(std::uint32_t worker) {
    return {cdf_.data() + std::size_t{worker} * width(), width()};
  }
  [[nodiscard]] std::span<const float> row(std::uint32_t worker) const {
    return {cdf_.data() + std::size_t{worker} * width(), width()};
  }
  // Makes the row from the probabilities of the bins, which need not sum to 1; the sum must be
  // positive. `mass` has bins numbers.
  void set_row(std::uint32_t worker, std::span<const float> mass);
  // All rows: exp(N(log seconds[w], sigma^2)).
  void set_lognormal_rows(std::span<const double> seconds, double sigma);
  // One row: exp(N(log seconds, sigma^2)).
  void set_lognormal_row(std::uint32_t worker, double seconds, double sigma);
  // The worker begins `seconds` late: it is still busy with something else.
  void delay_row(std::uint32_t worker, double seconds);

  // What the log seconds of all workers may have in common; the chances sum to 1. One shift of 0,
  // unless set.
  struct Shift {
    double bins = 0.0;
    double chance = 1.0;
  };
  void set_shifts(std::span<const Shift> shifts) { shifts_.assign(shifts.begin(), shifts.end()); }
  [[nodiscard]] std::span<const Shift> shifts() const { return shifts_; }

  // Draws of all workers' runtimes together (draws.h) have these ranks in the rows, one draw after
  // the other: draws x workers, in (0, 1). None, unless set: then they are independent, but for the
  // shift.
  void set_ranks(std::span<const float> ranks) { ranks_.assign(ranks.begin(), ranks.end()); }
  [[nodiscard]] std::span<const float> ranks() const { return ranks_; }

  // What follows is of one worker without a shift: as if it were 0.
  // P(runtime <= t) where `position` is that of t on the grid, or beyond it.
  [[nodiscard]] double cdf(std::uint32_t worker, double position) const;
  // log of the density of log seconds at a position, and of the chance of a longer runtime. A
  // little of each is spread evenly over the grid, so that no surprise is beyond all bounds.
  [[nodiscard]] double log_density(std::uint32_t worker, double position) const;
  [[nodiscard]] double log_survival(std::uint32_t worker, double position) const;
  // The runtime in seconds below which it is with this probability, in (0, 1).
  [[nodiscard]] double quantile(std::uint32_t worker, double probability) const;

 private:
  [[nodiscard]] std::size_t width() const { return std::size_t{grid_.bins()} + 1; }

  TimeGrid grid_;
  std::uint32_t workers_ = 0;
  std::vector<float> cdf_;
  std::vector<Shift> shifts_{{}};
  std::vector<float> ranks_;
  std::vector<float> in_hand_;
};

}  // namespace outpace::runtime_model
