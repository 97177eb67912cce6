// Recalibrates the forecast of order statistics by how past ones came out.
//
// Draws of a forecast know what its model knows. Where machines slow down together, or a hundred
// workers average out, their intervals are too narrow. For each count c this keeps how far the c-th
// arrival was from the median of its draws, in units of their spread:
//
//   e = (log x_(c) - log median) / spread,   spread = half the distance of their quartiles
//
// over the last iterations. The recalibrated draws of x_(c) have the quantiles of past e: a
// conformal forecast with a normalised residual (Vovk, Gammerman, Shafer, "Algorithmic Learning in
// a Random World", 2005). Each e is of an iteration that came after its forecast. The caller leaves
// out iterations that a model was fitted to, because its residuals are too small there.
//
// An arrival that the cutoff left out is known to be later than the cutoff. Its e is drawn from the
// past ones that are larger, as Kaplan and Meier redistribute censored values (1958).

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/rng.h"

namespace outpace::runtime_model {

class OrderCalibration {
 public:
  // The log draws of one order statistic, summed up.
  struct Middle {
    double median = 0.0;
    double spread = 1.0;

    void keep(Archive& archive) { archive("median", median)("spread", spread); }
  };
  // REQUIRES: sorted, positive, at least one.
  [[nodiscard]] static Middle middle_of(std::span<const float> draws);

  // The arrivals of an iteration, the shortest first, beside the draws that had been made of them;
  // those after the last of `came` took longer than `cut` seconds.
  void observe(std::span<const Middle> middles, std::span<const double> came, double cut);

  // Whether enough iterations are known to replace draws.
  [[nodiscard]] bool is_known() const;
  // Replaces the sorted draws of the c-th arrival by quantiles at (k + 1/2) / draws, if so.
  void apply(std::uint32_t c, const Middle& middle, std::span<float> draws) const;

  void keep(Archive& archive) { archive("past", past_)("rng", rng_); }

 private:
  // What is known of one c.
  struct Past {
    std::deque<double> in_time;  // The oldest first.
    std::vector<double> sorted;

    void keep(Archive& archive) { archive("in_time", in_time)("sorted", sorted); }
  };
  [[nodiscard]] double longer_than(const Past& past, double least);
  static void add(double residual, Past& past);

  std::vector<Past> past_;  // By c - 1.
  Rng rng_{0x3c6ef372fe94f82bU, 0};
};

}  // namespace outpace::runtime_model
