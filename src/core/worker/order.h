// From a lease's positions to examples of the data set: each epoch has its own seeded order.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/permutation.h"
#include "protocol/messages.h"

namespace outpace::worker {

class Order {
 public:
  // REQUIRES: examples >= 1.
  Order(std::uint64_t examples, std::uint64_t seed, bool with_replacement)
      : examples_(examples), seed_(seed), with_replacement_(with_replacement) {}

  // The examples of the ranges, in order. REQUIRES: every range's end is at most `examples`.
  [[nodiscard]] std::vector<std::uint64_t> examples(const protocol::Ranges& ranges);

 private:
  [[nodiscard]] std::uint64_t example(std::uint64_t epoch, std::uint64_t position);

  std::uint64_t examples_;
  std::uint64_t seed_;
  bool with_replacement_;
  std::map<std::uint64_t, Permutation> orders_;  // For the epochs seen last; a few.
};

// The epoch of the example at `place` of these ranges, in their order. REQUIRES: there is one.
[[nodiscard]] std::uint64_t epoch_at(const protocol::Ranges& ranges, std::uint64_t place);

}  // namespace outpace::worker
