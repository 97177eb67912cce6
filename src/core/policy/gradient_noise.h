// How much of a gradient is the loss's and how much is noise, from the norms that the server
// measures of each update.
//
//   V      =  c / (c - 1) * (mean_j ||g_j||^2 - ||mean_j g_j||^2)     of c gradients, c > 1
//   ||grad F||^2  =  ||mean_j g_j||^2 - V / c
//
// Both without bias for gradients that are independent and alike; of gradients of unequal
// mini-batches too, where both means are by examples: V is then of their mean size. Averaged over
// about a hundred updates: the weight of a past one decays.

#pragma once

#include <cstdint>
#include <optional>

#include "base/archive.h"
#include "policy/policy.h"
#include "runtime_model/worth.h"

namespace outpace::policy {

class GradientNoise {
 public:
  // An update of `gradients` gradients: the norm of their mean, and the root mean square of their
  // norms. Norms that are not finite are ignored.
  void hear(double mean_norm, double single_norm, std::uint32_t gradients);

  // The same, as the server measures it: first the single norm of an update of `gradients`
  // gradients, then the norm of their mean. Other measures are ignored.
  void hear(const Measured& measured, std::uint32_t gradients);

  // What updates are worth, as progress; nothing before an update of several gradients was seen.
  [[nodiscard]] std::optional<runtime_model::Worth> worth() const;

  // The variance of a single gradient; 0 before it is known.
  [[nodiscard]] double variance() const { return freedom_ > 0.0 ? deviations_ / freedom_ : 0.0; }
  // The simple noise scale V b / ||grad F||^2 of gradients of b examples, in examples (McCandlish
  // et al., 2018): updates of so many make half of the progress that exact gradients would. Nothing
  // before it is known, and where noise is all that is seen.
  [[nodiscard]] std::optional<double> scale(double examples) const;

  // The squared norm of the loss's gradient; at least 0.
  [[nodiscard]] double squared_norm() const;

  void keep(Archive& archive) {
    archive("single_norm", single_norm_)("deviations", deviations_)("freedom", freedom_);
    archive("squares", squares_)("inverse_counts", inverse_counts_)("updates", updates_);
  }

 private:
  static constexpr double kKeep = 0.99;  // The share of the past that each update keeps.

  double single_norm_ = 0.0;  // Measured last.
  // Sums over updates, discounted.
  double deviations_ = 0.0;  // The sum of (c - 1) V.
  double freedom_ = 0.0;     // The sum of c - 1.
  double squares_ = 0.0;     // The sum of the means' squared norms.
  double inverse_counts_ = 0.0;
  double updates_ = 0.0;
};

}  // namespace outpace::policy
