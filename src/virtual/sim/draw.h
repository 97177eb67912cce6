// One draw of a runtime: everything it may depend on, and the random numbers that follow from it.
//
// The random numbers are counter-based: those of a draw are a hash (base/rng's mix) of the seed,
// the worker and the iteration, as in Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3
// (SC 2011). So workers need no state, and a draw does not depend on earlier draws.

#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/normal_distribution.h"
#include "base/rng.h"
#include "base/time.h"

namespace outpace::sim {

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;  // SplitMix64's step.

struct Draw {
  std::uint64_t seed;
  WorkerId worker;
  std::uint32_t rank;       // The worker's place in its class: 0, 1, ...
  std::uint64_t iteration;  // The worker's: 0, 1, ...
  Time start;               // When the mini-batch begins; at least 0.

  // The same draw for a part of a composed distribution, with random numbers of its own.
  [[nodiscard]] Draw part(std::uint64_t number) const {
    Draw inner = *this;
    inner.seed = mix(seed ^ (number + 1) * 0xd1342543de82ef95U);
    return inner;
  }
};

// A value that lasts longer than a draw has random numbers of its own: one key for each seed and
// machine, worker, copy or block of time.
[[nodiscard]] inline std::uint64_t key(std::uint64_t seed, std::uint64_t number) {
  return mix(seed + number * kGolden);
}

// The random numbers of one draw, or of one key: as many as are asked for.
class Uniforms {
 public:
  explicit Uniforms(std::uint64_t key) : state_(key) {}
  explicit Uniforms(const Draw& draw)
      : state_(key(draw.seed, index(draw.worker)) + draw.iteration * 0xda942042e4dd58b5U) {}

  // Strictly between 0 and 1: (k + 1/2) / 2^52, so that logarithms and quantiles are finite.
  [[nodiscard]] double next() {
    state_ += kGolden;
    return (static_cast<double>(mix(state_) >> 12U) + 0.5) * 0x1.0p-52;
  }
  // Standard normal.
  [[nodiscard]] double normal() { return normal_quantile(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace outpace::sim
