// A seeded permutation of 0..size-1 that needs no memory: position -> element, one at a time.
//
// A balanced Feistel network over the next even power of two, walked until the value falls inside
// (Black & Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). An epoch's order is one of
// these, so that a server can lease index ranges of a huge data set and only workers look them up.

#pragma once

#include <cstdint>

namespace outpace {

class Permutation {
 public:
  // REQUIRES: size >= 1.
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t stream);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // REQUIRES: position < size(). Takes under four rounds of the network on average.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t position) const;

 private:
  [[nodiscard]] std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t size_;
  std::uint64_t key_;
  unsigned half_bits_;
};

}  // namespace outpace
