// The predictive distribution of every worker's next runtime, given all observations.
//
// A table of workers x edges: P(runtime <= edge). Within an iteration it is conditioned on what has
// happened by then. A worker that has arrived no longer matters; one that has not has a runtime
// longer than the time s that has passed:
//
//   P(x_w <= t | x_w > s) = (F_w(t) - F_w(s)) / (1 - F_w(s))
//
// What makes all workers slow or fast in one iteration, such as a congested network, is a common
// shift of log seconds. The forecast gives several possible shifts and their probabilities. Given
// the past and the shift, workers are independent.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/archive.h"
#include "runtime_model/time_grid.h"

namespace outpace::runtime_model {

// The distribution of workers that are alike and normal: N(mean, sigma^2), in seconds.
struct Alike {
  double mean = 0.0;
  double sigma = 1.0;

  void keep(Archive& archive) { archive("mean", mean)("sigma", sigma); }
};

class Forecast {
 public:
  // Keeps its memory. The caller must set every worker's row afterwards.
  void reset(const TimeGrid& grid, std::uint32_t workers);

  [[nodiscard]] const TimeGrid& grid() const { return grid_; }
  [[nodiscard]] std::uint32_t workers() const { return workers_; }

  // P(runtime <= edge i), i = 0..bins; non-decreasing, and 1 at the end.
  [[nodiscard]] std::span<float> row(std::uint32_t worker) {
    return {cdf_.data() + std::size_t{worker} * width(), width()};
  }
  [[nodiscard]] std::span<const float> row(std::uint32_t worker) const {
    return {cdf_.data() + std::size_t{worker} * width(), width()};
  }
  // Sets the row from the probabilities of the bins, which are normalised to sum to 1. `mass` has
  // one number per bin. REQUIRES: the sum is positive.
  void set_row(std::uint32_t worker, std::span<const float> mass);
  // Sets all rows to exp(N(log seconds[w], sigma^2)).
  void set_lognormal_rows(std::span<const double> seconds, double sigma);
  // All workers are alike and normal. Their expected order statistics then follow a formula
  // (draws.h).
  void set_normal_rows(const Alike& alike);
  // Empty if workers differ, or one begins late.
  [[nodiscard]] const std::optional<Alike>& alike() const { return alike_; }
  // The worker begins `seconds` late, because it is still busy with an earlier iteration.
  void delay_row(std::uint32_t worker, double seconds);

  // A possible common shift of all workers' log seconds. The probabilities sum to 1. Unless set,
  // there is one shift, of 0.
  struct Shift {
    double bins = 0.0;
    double chance = 1.0;

    void keep(Archive& archive) { archive("bins", bins)("chance", chance); }
  };
  void set_shifts(std::span<const Shift> shifts) { shifts_.assign(shifts.begin(), shifts.end()); }
  [[nodiscard]] std::span<const Shift> shifts() const { return shifts_; }

  // The ranks that joint draws of all workers' runtimes (draws.h) have in the rows: draws x
  // workers, each in (0, 1), one draw after another. Unless set, workers are independent given the
  // shift.
  void set_ranks(std::span<const float> ranks) { ranks_.assign(ranks.begin(), ranks.end()); }
  [[nodiscard]] std::span<const float> ranks() const { return ranks_; }

  // The rest is about one worker without a common shift.
  //
  // P(runtime <= t), where `position` is the position of t on the grid or beyond it.
  [[nodiscard]] double cdf(std::uint32_t worker, double position) const;
  // Log of the density of log seconds at a position, and of the probability of a longer runtime. A
  // small share of each is uniform over the grid, so that no surprise has an infinite penalty.
  [[nodiscard]] double log_density(std::uint32_t worker, double position) const;
  [[nodiscard]] double log_survival(std::uint32_t worker, double position) const;
  // The quantile, in seconds. REQUIRES: 0 < probability < 1.
  [[nodiscard]] double quantile(std::uint32_t worker, double probability) const;

  // The mean of the longest runtime of all workers, in seconds. It is taken from the rows without a
  // common shift.
  [[nodiscard]] double mean_of_slowest() const;

  void keep(Archive& archive) {
    archive("grid", grid_)("workers", workers_)("cdf", cdf_)("shifts", shifts_)("ranks", ranks_)(
        "alike", alike_);
  }

 private:
  [[nodiscard]] std::size_t width() const { return std::size_t{grid_.bins()} + 1; }

  TimeGrid grid_;
  std::uint32_t workers_ = 0;
  std::vector<float> cdf_;
  std::vector<Shift> shifts_{{}};
  std::vector<float> ranks_;
  std::optional<Alike> alike_;
  std::vector<float> in_hand_;
};

}  // namespace outpace::runtime_model
