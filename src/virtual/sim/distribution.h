// A distribution of a worker's runtime for a full mini-batch, in seconds.
//
// draw() is a pure function: where it depends on the past of a worker, a machine or the cluster, it
// computes that past from the seed again. The moments and the cdf are those of one worker's runtime
// at a random moment, if nothing is known of the past.

#pragma once

#include <optional>

#include "sim/draw.h"

namespace outpace::sim {

class Distribution {
 public:
  virtual ~Distribution() = default;

  [[nodiscard]] virtual double draw(const Draw& draw) const = 0;
  // Seconds.
  [[nodiscard]] virtual double mean() const = 0;
  // Seconds squared; infinite if the tail is too heavy.
  [[nodiscard]] virtual double variance() const = 0;
  // P(runtime <= seconds), or nothing if there is no closed form.
  [[nodiscard]] virtual std::optional<double> cdf(double seconds) const = 0;
};

}  // namespace outpace::sim
