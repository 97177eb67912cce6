// YellowFin's choice of momentum and learning rate, from measurements of the loss. It takes the
// pair that moves a noisy quadratic nearest to its minimum in one step, among the momentum values
// for which every curvature from h_min to h_max converges at the same rate.
//
//   mu, alpha = argmin mu * D^2 + alpha^2 * C
//               with sqrt(mu) >= (sqrt(h_max / h_min) - 1) / (sqrt(h_max / h_min) + 1),
//                    alpha = (1 - sqrt(mu))^2 / h_min
//
// Zhang, Mitliagkas, "YellowFin and the Art of Momentum Tuning", MLSys 2019, SingleStep in section
// 3. x = sqrt(mu) is the root of the derivative: (1 - x)^3 = p x, p = D^2 h_min^2 / (2 C).

#pragma once

namespace outpace::update {

struct Landscape {
  double h_min;  // Smallest curvature; above 0.
  double h_max;  // Largest curvature; at least h_min.
  // C, the gradient's variance summed over its numbers; at least 0, up to rounding.
  double variance;
  double distance;  // D, the distance to the minimum; at least 0.
};
struct Tuned {
  double mu;     // In [0, 1).
  double alpha;  // Learning rate.
};
[[nodiscard]] Tuned single_step(const Landscape& landscape);

// The root in [0, 1] of (1 - x)^3 = p x; 0 for infinite p. REQUIRES: p >= 0.
[[nodiscard]] double cubic_root(double p);

}  // namespace outpace::update
