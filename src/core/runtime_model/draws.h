// Sorted joint draws of the workers' next runtimes, for estimating expected order statistics.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "runtime_model/forecast.h"

namespace outpace::runtime_model {

class Draws {
 public:
  // Makes stratified draws: each of a worker's draws is from another of `count` equally likely
  // intervals. If the forecast has ranks, there is one draw per row of ranks and `count` is
  // ignored. REQUIRES: count is a power of two.
  void draw(const Forecast& forecast,
            std::span<const std::uint32_t> workers,
            std::uint32_t count,
            std::uint64_t seed);

  [[nodiscard]] std::uint32_t count() const { return count_; }
  // The runtimes of one draw, in seconds, the shortest first.
  [[nodiscard]] std::span<const float> sorted(std::uint32_t draw) const {
    return {sorted_.data() + std::size_t{draw} * workers_, workers_};
  }
  // E[x_(c)] in seconds: the mean of the c-th shortest runtime, over the draws; by Elfving's
  // formula if the forecast's workers are alike and normal. REQUIRES: 1 <= c <= workers.
  [[nodiscard]] double mean(std::uint32_t c) const { return means_[c - 1]; }
  // The quantile of the c-th shortest runtime, in seconds.
  [[nodiscard]] double quantile(std::uint32_t c, double probability) const;

 private:
  void draw_apart(const Forecast& forecast,
                  std::span<const std::uint32_t> workers,
                  std::uint32_t count,
                  Rng& rng);
  void draw_by_ranks(const Forecast& forecast, std::span<const std::uint32_t> workers);
  void shift_rows(const Forecast& forecast, Rng& rng);

  std::uint32_t count_ = 0;
  std::uint32_t workers_ = 0;
  std::vector<float> sorted_;
  std::vector<double> means_;
};

// E[x_(c)] ~ mu + sigma Phi^-1((c - pi/8) / (workers - pi/4 + 1)): Elfving, "The asymptotical
// distribution of range in samples from a normal population" (1947).
[[nodiscard]] double elfving_mean(const Alike& alike, std::uint32_t c, std::uint32_t workers);

// Number of draws for a decision made before an iteration. More workers need fewer, because their
// order statistics vary less.
[[nodiscard]] std::uint32_t draws_for(std::uint32_t workers);

}  // namespace outpace::runtime_model
