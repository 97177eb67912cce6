// When a worker whose heart beats counts as stalled: it has been at a mini-batch for too long.
//
// The limit is given (--progress-timeout), or follows the worker's own runtimes: ten times the 99th
// percentile of its last hundred, and at least 30 s. A process has 10 minutes for each of its first
// five mini-batches, in which it loads and compiles. A worker that stalls again and again without a
// gradient in between gets twice the time each time, so that one that has become slow is not cut
// short for ever.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"

namespace outpace::server {

class StallRule {
 public:
  static constexpr Duration kLeast = std::chrono::seconds(30);
  static constexpr std::uint32_t kWarmUp = 5;      // Mini-batches.
  static constexpr std::size_t kRecent = 100;      // Runtimes.
  static constexpr double kTimes = 10.0;           // The 99th percentile.
  static constexpr std::uint32_t kDoublings = 10;  // At most.

  // `timeout`: for every mini-batch. Without it the limit follows the runtimes.
  explicit StallRule(std::optional<Duration> timeout) : timeout_(timeout) {}

  // No limit is shorter.
  [[nodiscard]] Duration least() const { return timeout_.value_or(kLeast); }

  struct Past {
    std::uint32_t ended = 0;            // Mini-batches of this process that have ended.
    std::uint32_t stalls_in_a_row = 0;  // Since its last gradient that came in time.
    std::span<const float> runtimes;    // In seconds, in order; of this rank.
  };
  // How long a mini-batch may take; nothing: any time.
  [[nodiscard]] std::optional<Duration> limit(const Past& past) const;

 private:
  std::optional<Duration> timeout_;
};

}  // namespace outpace::server
