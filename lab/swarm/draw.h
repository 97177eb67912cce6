// Random choices of a plan of the swarm.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/rng.h"
#include "base/time.h"

namespace outpace::swarm {

// As an option takes it.
[[nodiscard]] inline std::string words(Duration duration) {
  return std::to_string(duration.count()) + "ns";
}

class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t stream) : rng_(seed, stream) {}

  [[nodiscard]] std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return least + rng_.below(most - least + 1);
  }
  [[nodiscard]] bool one_in(std::uint64_t times) { return rng_.below(times) == 0; }
  // Uniform.
  [[nodiscard]] Duration between(Duration least, Duration most) {
    return Duration{static_cast<Duration::rep>(between(static_cast<std::uint64_t>(least.count()),
                                                       static_cast<std::uint64_t>(most.count())))};
  }
  template <typename Value, std::size_t kSize>
  [[nodiscard]] Value one_of(const std::array<Value, kSize>& values) {
    return values[rng_.below(kSize)];
  }
  [[nodiscard]] Rng& rng() { return rng_; }

 private:
  Rng rng_;
};

}  // namespace outpace::swarm
