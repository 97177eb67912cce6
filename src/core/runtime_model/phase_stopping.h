// When to stop waiting within an iteration whose releases are phases of local steps.
//
// A worker that is cut off hands in the part that it has done, so stopping loses nothing, and what
// waiting costs is what the workers that are done could do meanwhile. One that still computes does
// 1 / x of a phase in a second, where x is its whole runtime. With lambda, the run's rate of
// phases, parts counted:
//
//   go on  iff  sum over those that still compute of 1 / x  >=  lambda
//
// (renewal-reward, Dinkelbach 1967; Charnov's marginal value theorem, 1976). lambda has all that an
// update takes beside computing. So the longer the weights travel, the longer it is worth to wait.
//
// x is the forecast's median, given that it is longer than the time so far. A part's share counts
// from the release on, also where the weights' travel was most of it: x is then too long.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/forecast.h"

namespace outpace::runtime_model {

class PhaseStopping {
 public:
  // Begins an iteration. `forecast` must outlive it; `rate` is lambda, in phases per second.
  // REQUIRES: rate > 0.
  void begin(const Forecast& forecast, double rate);

  struct Outlook {
    bool stop = false;
    double again = 0.0;  // In seconds; if not stop, ask again by then at the latest.
  };
  // Decides with the workers in `out` still computing, `seconds` since the iteration began.
  [[nodiscard]] Outlook look(double seconds, std::span<const std::uint32_t> out) const;

  // How much the workers in `out` have done by now, in phases.
  [[nodiscard]] double done(double seconds, std::span<const std::uint32_t> out) const;

  // When it will stop if all workers take what is expected, and how many are whole then.
  struct Plan {
    std::uint32_t count = 0;
    double until = 0.0;  // In seconds.
  };
  [[nodiscard]] Plan plan(std::span<const std::uint32_t> workers);

 private:
  // Seconds of its whole phase, if it is longer than `seconds`.
  [[nodiscard]] double expected(std::uint32_t worker, double seconds) const;

  const Forecast* forecast_ = nullptr;
  double rate_ = 0.0;
  std::vector<double> medians_;  // Used within a call; kept for its memory.
};

}  // namespace outpace::runtime_model
