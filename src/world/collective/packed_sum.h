// The sum of numbers over all members of a ring, packed in fewer bytes on their way.
//
// Each member owns a part of the numbers. All send their packed terms of a part to its owner, which
// sums them, packs the sum, and sends it to all. So each term is rounded once, and each sum once,
// however many members there are; a ring of hops would round a sum at every hop. The bytes are the
// same: a member sends and receives 2 (W - 1) / W of the packed numbers. Seide et al., "1-Bit
// Stochastic Gradient Descent", 2014, section 3.3; Tang et al., "1-bit Adam", ICML 2021, section 5.
//
// The owner too uses what its packed sum unpacks to, so that all members end with the same bits.
// What rounding leaves behind counts with the next sum (compress/feedback.h): of a term at its
// member, of a sum at its owner, which adds it to its own term. So with feedback 1 the sums and
// what all members keep add up to all terms, also when others own the parts later.
//
// A thread calls sum(); a verdict follows before the next one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collective/swap.h"
#include "compress/feedback.h"
#include "compress/format.h"
#include "protocol/traffic.h"

namespace outpace::collective {

class PackedSum {
 public:
  // For sums of this length. REQUIRES: not Kind::kNone.
  PackedSum(const compress::Compression& compression, std::size_t numbers);

  struct Terms {
    std::span<float> numbers;
    std::span<float> exact{};  // These few are not rounded.
  };
  // Replaces the terms by the sum over all `size` members; this one is `rank`. With one member they
  // stay as they are. Throws what `swap` does, and an Error if what came cannot be used.
  void sum(const Terms& terms, std::uint32_t rank, std::uint32_t size, const Swap& swap);
  // The sum counts for all members, or for none.
  void accepted() { feedback_.accepted(); }
  void given_up() { feedback_.given_up(); }
  // What is left behind (compress/feedback.h).
  [[nodiscard]] std::span<const float> left() const { return feedback_.left(); }

 private:
  void send_terms(const Terms& terms, std::uint32_t rank, const Swap& swap);
  void add_terms(const Terms& terms, std::uint32_t rank);
  void send_sum(std::span<float> numbers, std::uint32_t rank, const Swap& swap);

  [[nodiscard]] std::span<float> part(std::span<float> numbers, std::uint32_t rank) const;

  const std::size_t numbers_;
  std::uint32_t size_ = 1;
  compress::Feedback feedback_;
  std::vector<std::vector<std::byte>> sent_;  // Parcels, by rank.
  std::vector<std::vector<std::byte>> came_;
  std::vector<float> term_;   // Another member's.
  std::vector<float> exact_;  // The same.
};

// What one member sends for a sum of this many numbers. With Kind::kNone it is Gloo's sum, in which
// all members together send as many numbers.
[[nodiscard]] protocol::Carried carried_by_sum(const compress::Format& format,
                                               std::size_t numbers,
                                               std::uint32_t rank,
                                               std::uint32_t size);

}  // namespace outpace::collective
