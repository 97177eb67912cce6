// I1 at the end of a run of ledger gradients (worker/ledger.h): the weights say of every example
// how often it was applied, and that is what was accepted.
//
// Expected numbers come from the positions that were leased and used, through the same order of
// examples that workers compute; so leases, order, gradients, aggregation and optimizer are all
// between the two.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/messages.h"
#include "worker/order.h"

namespace outpace::invariants {

class Audit {
 public:
  // REQUIRES: examples >= 1.
  Audit(std::uint64_t examples, std::uint64_t seed, bool with_replacement)
      : order_(examples, seed, with_replacement), expected_(examples, 0.0) {}

  // These positions were accepted with this weight, in an update.
  void used(const protocol::Ranges& ranges, double weight);
  // Throws Violation. `updates` have been made. REQUIRES: weights.size() == examples.
  void check(std::span<const float> weights, std::uint64_t updates) const;

 private:
  worker::Order order_;
  std::vector<double> expected_;  // How often each example was applied, weights counted.
};

}  // namespace outpace::invariants
