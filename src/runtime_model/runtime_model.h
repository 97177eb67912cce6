// What a model of the cluster's runtimes is: it is shown one iteration after the other, and
// forecasts the next.
//
// The cutoff censors what it is shown: of a worker that was cancelled nobody will ever know more
// than that its runtime was longer than what it was given. One that was not cancelled is shown
// again when it is done (correct()), and until then it is busy: it has begun no new runtime.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime_model/forecast.h"

namespace outpace::runtime_model {

enum class Fate : std::uint8_t {
  kArrived,  // Its runtime is known.
  kLonger,   // It was given up after `seconds`: its runtime is longer.
  kBusy,     // It has not begun a runtime: nothing is known of it.
};

struct Observation {
  double seconds = 0.0;
  Fate fate = Fate::kBusy;
};

class RuntimeModel {
 public:
  virtual ~RuntimeModel() = default;

  // One iteration has ended; an observation for each worker. REQUIRES: positive, finite seconds
  // unless busy; the same number of workers every time.
  virtual void observe(std::span<const Observation> iteration) = 0;
  // The worker that was last shown as kLonger is done after all, and took so many seconds in all.
  virtual void correct(std::uint32_t worker, double seconds) = 0;
  // Of the next iteration. False if nothing was observed yet: then nothing is known.
  [[nodiscard]] virtual bool forecast(Forecast& out) = 0;
  // Which model's forecast was given last, where there are several; else nothing.
  [[nodiscard]] virtual const std::string& believed() const;
};

// The sum over workers of log densities, and of log chances of longer runtimes, if all log seconds
// are so many bins longer than forecast. Of more than 512 workers every so manyth stands for all.
[[nodiscard]] double log_likelihood(const Forecast& forecast,
                                    std::span<const Observation> iteration,
                                    double shift);

// A grid for runtimes like these, from a 30th of their median to 300 times as long.
// REQUIRES: something was seen.
[[nodiscard]] TimeGrid grid_around(std::span<const Observation> iteration);

}  // namespace outpace::runtime_model
