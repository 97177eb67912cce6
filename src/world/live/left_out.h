// Which examples of the data set a job has left out, for its callback.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/coordinator.h"
#include "server/effects.h"
#include "worker/order.h"

namespace outpace::live {

// Indices into the data set, in no order; why nobody could compute them.
using LeftOutTold = std::function<void(const std::vector<std::uint64_t>&, const std::string& why)>;

// Says nothing of what the script itself wants to be left out.
inline void tell_left_out(const server::LeaveOut& left_out,
                          const server::CoordinatorOptions& options,
                          const LeftOutTold& told) {
  if (told && !left_out.why.empty()) {
    worker::Order order(options.examples, options.seed, options.with_replacement);
    told(order.examples(left_out.ranges), left_out.why);
  }
}

}  // namespace outpace::live
