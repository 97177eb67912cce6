// What an update of c gradients is worth: what is to be as much as can be, a second.
//
//   gradients  worth(c) = c
//   progress   worth(c) = (1 - x) ||grad F||^2 - x V / c,     x = eta L / 2
//
// The second is the expected decrease of a loss F with L-Lipschitz gradients in a step of rate eta
// along the mean of c gradients, each of variance V, over eta:
//
//   E[F(w) - F(w')]  >=  (eta - L eta^2 / 2) ||grad F||^2  -  (L eta^2 / 2) V / c
//
// (Xu, Neglia, Sebastianelli, "Dynamic Backup Workers for Parallel Machine Learning", 2020, section
// 3: the gain that is maximised over the expected time.)

#pragma once

#include "base/archive.h"

namespace outpace::runtime_model {

struct Worth {
  double per_update = 0.0;
  double per_gradient = 1.0;
  double noise = 0.0;  // Taken off, over the number of gradients; at least 0.

  void keep(Archive& archive) {
    archive("per_update", per_update)("per_gradient", per_gradient)("noise", noise);
  }

  // Of an update; no gradients are no update, and worth nothing.
  [[nodiscard]] double of(double gradients) const {
    return gradients > 0.0 ? per_update + per_gradient * gradients - noise / gradients : 0.0;
  }
  // Of `more` gradients, in addition to the `arrived` ones.
  [[nodiscard]] double gain(double arrived, double more) const {
    return arrived > 0.0 ? per_gradient * more + noise * (1.0 / arrived - 1.0 / (arrived + more))
                         : of(more);
  }
};

}  // namespace outpace::runtime_model
