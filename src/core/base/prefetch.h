// Asks the processor for memory before it is needed. A simulation of many workers goes from one to
// another at random, and would wait for memory longer than it computes. Changes nothing else.

#pragma once

#include <cstddef>

namespace outpace {

inline constexpr std::size_t kCacheLine = 64;

// The line in which the address lies, which need not be anything's.
inline void prefetch_line(const void* address) {
  __builtin_prefetch(address);
}

template <typename Object>
void prefetch(const Object& object) {
  for (std::size_t at = 0; at < sizeof(Object); at += kCacheLine) {
    prefetch_line(reinterpret_cast<const char*>(&object) + at);
  }
}

}  // namespace outpace
