// Counts what payloads take: the connections of one server together.

#pragma once

#include <cstdint>
#include <mutex>

#include "protocol/traffic.h"

namespace outpace::wire {

// Threads: any.
class TrafficCount {
 public:
  void gradient(std::uint64_t numbers, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    traffic_.gradients.add(numbers, bytes);
  }
  void weights(std::uint64_t numbers, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    traffic_.weights.add(numbers, bytes);
  }
  [[nodiscard]] protocol::Traffic now() const {
    const std::lock_guard lock(mutex_);
    return traffic_;
  }

 private:
  mutable std::mutex mutex_;
  protocol::Traffic traffic_;  // Guarded by mutex_.
};

}  // namespace outpace::wire
