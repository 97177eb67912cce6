// Whether a worker has become slow, or fast again, measured by its own past.
//
// A CUSUM of log-likelihood ratios (Page, "Continuous Inspection Schemes", Biometrika 1954) on the
// logarithm of its runtimes, whose noise is taken as normal around a baseline that is learnt:
//
//   S <- max(0, S + log f(z; shift) / f(z; 0)),   alarm when S > h
//
// A runtime that was cut off is only known to be longer: there the ratio is of the probabilities of
// a longer one. A term counts at most kTermMost, so a single pause, however long, is no change.
// While a worker is slow, the same test looks for the return to the baseline.

#pragma once

#include <cstdint>

namespace outpace::watch {

enum class Change : std::uint8_t { kNone, kSlow, kRecovered };

class ChangePoint {
 public:
  static constexpr double kTermMost = 4.0;
  static constexpr double kThreshold = 18.0;    // h.
  static constexpr std::uint32_t kWarmUp = 20;  // Runtimes by which the baseline is learnt.

  struct Seen {
    double log_seconds;
    bool longer = false;  // It was cut off then.
  };
  [[nodiscard]] Change see(Seen seen);

  // Whether the baseline is known.
  [[nodiscard]] bool ready() const { return seen_ >= kWarmUp; }
  [[nodiscard]] double baseline() const { return mean_; }
  [[nodiscard]] bool slow() const { return slow_; }
  // How many times slower than its past it is, at least, if runtimes were cut off. 1: it is not.
  [[nodiscard]] double factor() const;

 private:
  void learn(double log_seconds);
  [[nodiscard]] double spread() const;
  // log of the likelihood under a mean of `alternative` over that under one of `usual`.
  [[nodiscard]] double term(Seen seen, double alternative, double usual) const;

  std::uint64_t seen_ = 0;  // Runtimes in the baseline.
  double mean_ = 0.0;       // In log seconds.
  double last_ = 0.0;
  double half_squares_ = 0.0;  // Mean of half the squared differences of neighbours: the variance.
  double sum_ = 0.0;           // S.
  bool slow_ = false;
  double level_ = 0.0;  // Mean of log seconds since S left 0, or while slow.
  std::uint32_t level_count_ = 0;
};

}  // namespace outpace::watch
