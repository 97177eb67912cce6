// The interface of a model of the cluster's runtimes: it observes one iteration after another, and
// forecasts the next.
//
// The cutoff censors the observations. If a worker was cancelled, its runtime is only known to be
// longer than the time it was given. A worker that was not cancelled is observed again when it is
// done (correct()); until then it is busy and has begun no new runtime.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/archive.h"
#include "runtime_model/forecast.h"

namespace outpace::runtime_model {

enum class Fate : std::uint8_t {
  kArrived,  // Its runtime is known.
  kLonger,   // It was cut off after `seconds`: its runtime is longer.
  kBusy,     // It has not begun a runtime: nothing is known about it.
};

struct Observation {
  double seconds = 0.0;
  Fate fate = Fate::kBusy;

  void keep(Archive& archive) { archive("seconds", seconds)("fate", fate); }
};

class RuntimeModel {
 public:
  virtual ~RuntimeModel() = default;

  // Observes an iteration that has ended, one observation per worker. REQUIRES: positive, finite
  // seconds unless busy; the same number of workers every time.
  virtual void observe(std::span<const Observation> iteration) = 0;
  // The worker, last observed as kLonger, has finished after all, after `seconds` in total.
  virtual void correct(std::uint32_t worker, double seconds) = 0;
  // Forecasts the next iteration. Returns false if nothing was observed yet.
  [[nodiscard]] virtual bool forecast(Forecast& out) = 0;
  // The model whose forecast was returned last, if several compete; otherwise empty.
  [[nodiscard]] virtual const std::string& believed() const;
  // What it has learnt: a new model of the same kind forecasts with it as this one does.
  virtual void keep(Archive& archive) = 0;
};

// Log-likelihood of an iteration if all log seconds are `shift` bins longer than forecast: the sum
// over workers of log densities, and of log survival for those cut off. Above 512 workers, an
// evenly spread sample stands for all.
[[nodiscard]] double log_likelihood(const Forecast& forecast,
                                    std::span<const Observation> iteration,
                                    double shift);

// The median of the seconds observed. REQUIRES: at least one worker was not busy.
[[nodiscard]] double median_seconds(std::span<const Observation> iteration);

// A grid for runtimes around `median`, from 1/30 of it to 300 times it.
[[nodiscard]] TimeGrid grid_around(double median);

}  // namespace outpace::runtime_model
