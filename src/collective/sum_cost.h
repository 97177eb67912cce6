// What a sum of all workers' gradients costs the processors, without a link in the way: two members
// in this process add up numbers over loopback, as a ring does.

#pragma once

#include <cstddef>
#include <string>

namespace outpace::collective {

struct SumCost {
  double message_seconds;  // Of a step of the ring: a message of no size to the neighbour.
  double byte_seconds;     // Of a byte that goes once around, besides.
};

// `rendezvous`: a file that is not there yet. Medians of `repeats` sums of one number, and of
// `numbers` float32. Throws Error if loopback fails. REQUIRES: both at least 1.
[[nodiscard]] SumCost measure_sum_cost(const std::string& rendezvous,
                                       std::size_t numbers,
                                       std::size_t repeats);

}  // namespace outpace::collective
