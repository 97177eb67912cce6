// For tests of runtime models: iterations, and runtimes drawn around a level.

#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

inline std::vector<Observation> arrived(const std::vector<double>& seconds) {
  std::vector<Observation> all;
  for (const double value : seconds) {
    all.push_back({.seconds = value, .fate = Fate::kArrived});
  }
  return all;
}

inline std::vector<double> around(const std::vector<double>& levels, double sigma, Rng& rng) {
  std::vector<double> seconds;
  for (const double level : levels) {
    seconds.push_back(level * std::exp(sigma * rng.normal()));
  }
  return seconds;
}

}  // namespace outpace::runtime_model
