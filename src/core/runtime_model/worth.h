// What an update of c gradients is worth: what is to be as much as can be, a second.
//
//   gradients  worth(c) = c
//   progress   worth(c) = c / (1 + c s),     s = ||grad F||^2 / V = 1 / phi
//
// The second is proportional to c / (c + phi): the decrease of the loss F in a step of the best
// length along the mean of c gradients, each of variance V, as a share of what exact gradients
// would bring (McCandlish, Kaplan, Amodei, "An Empirical Model of Large-Batch Training", 2018,
// equation 2.6). phi is the noise scale in gradients. Where all is noise (s = 0), both are the
// same.

#pragma once

#include "base/archive.h"

namespace outpace::runtime_model {

struct Worth {
  double saturation = 0.0;  // s; at least 0, finite.

  void keep(Archive& archive) { archive("saturation", saturation); }

  // What an update is worth; no gradients are no update, and worth nothing.
  [[nodiscard]] double of(double gradients) const {
    return gradients / (1.0 + saturation * gradients);
  }
  // What `more` gradients are worth, in addition to the `arrived` ones.
  [[nodiscard]] double gain(double arrived, double more) const {
    return more / ((1.0 + saturation * arrived) * (1.0 + saturation * (arrived + more)));
  }
};

}  // namespace outpace::runtime_model
