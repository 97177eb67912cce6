// How long to wait between two tries to reach a server: exponential backoff with jitter.
//
// In the first minute a try follows the one before within a second, so that a server that returns
// is found at once; later within five seconds. The jitter keeps many clients from coming together.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/rng.h"
#include "base/time.h"

namespace outpace {

class Backoff {
 public:
  explicit Backoff(std::uint64_t seed) : rng_(seed, 0) {}

  // The wait before the next try, if the first was `trying` ago.
  [[nodiscard]] Duration next(Duration trying) {
    constexpr Duration kSoon = std::chrono::minutes(1);
    constexpr Duration kLongestSoon = std::chrono::seconds(1);
    constexpr Duration kLongest = std::chrono::seconds(5);
    const Duration most = std::min(whole_, trying < kSoon ? kLongestSoon : kLongest);
    whole_ = std::min(2 * whole_, kLongest);
    return most / 2 + from_seconds(rng_.uniform() * to_seconds(most) / 2);
  }

 private:
  Rng rng_;
  Duration whole_ = std::chrono::milliseconds(50);  // The next wait, at most.
};

}  // namespace outpace
