// Measures the processor cost of summing gradients, without a network: two members in this process
// sum numbers over loopback, as a ring does.

#pragma once

#include <cstddef>
#include <string>

namespace outpace::collective {

struct SumCost {
  double message_seconds;  // Of one step of the ring: an empty message to the neighbour.
  double byte_seconds;     // In addition, of each byte that goes once around.
};

// Medians over `repeats` sums of one number and of `numbers` float32. `rendezvous`: a file that
// does not exist yet. Throws Error if loopback fails. REQUIRES: both counts at least 1.
[[nodiscard]] SumCost measure_sum_cost(const std::string& rendezvous,
                                       std::size_t numbers,
                                       std::size_t repeats);

}  // namespace outpace::collective
