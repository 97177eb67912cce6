// The predictive distribution of every worker's next runtime, given all that was observed.
//
// A table of workers x bins: P(runtime <= edge of the bin). Within an iteration it is conditioned
// on what is known by then: who has arrived is no longer asked about, and of who has not, that its
// runtime is longer than what has passed (survival).
//
//   P(x_w <= t | x_w > s) = (F_w(t) - F_w(s)) / (1 - F_w(s))
//
// Given the past, workers are independent here; what makes them alike, slow machines say, is in the
// past.

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
  // The worker begins `seconds` late: it is still busy with something else.
  void delay_row(std::uint32_t worker, double seconds);

  // P(runtime <= t) where `position` is that of t on the grid.
  [[nodiscard]] double cdf(std::uint32_t worker, double position) const;
  // The runtime in seconds below which it is with this probability, in (0, 1).
  [[nodiscard]] double quantile(std::uint32_t worker, double probability) const;

 private:
  [[nodiscard]] std::size_t width() const { return std::size_t{grid_.bins()} + 1; }

  TimeGrid grid_;
  std::uint32_t workers_ = 0;
  std::vector<float> cdf_;
  std::vector<float> in_hand_;
};

}  // namespace outpace::runtime_model
