// Who computes on which examples in a ring, without anybody who says so: every worker plays the
// server's leases for itself, and all find the same.
//
// Update after update, each worker in its order takes the next full mini-batch of the epoch's
// order, as `--policy sync` hands them out while all live. At the end of the last epoch there is
// less for some, and perhaps nothing.

#pragma once

#include <cstdint>
#include <optional>

#include "protocol/messages.h"
#include "server/leases.h"

namespace outpace::collective {

struct BatchPlanOptions {
  std::uint32_t workers = 1;
  std::uint32_t batch = 32;
  std::uint64_t examples = 1;  // In the data set.
  // Limits; 0: none. The first one reached counts.
  std::uint64_t updates = 0;
  std::uint64_t iterations = 0;  // Gradients: `workers` of them are an update.
  std::uint64_t epochs = 0;
};

class BatchPlan {
 public:
  struct Update {
    protocol::Ranges own;  // Perhaps empty.
    std::uint32_t own_examples = 0;
    std::uint64_t examples = 0;  // Of all workers; at least 1.
  };

  explicit BatchPlan(const BatchPlanOptions& options);

  // The next update, as `worker` sees it; nothing if a limit is reached.
  [[nodiscard]] std::optional<Update> next(WorkerId worker);

 private:
  // Constant after construction.
  BatchPlanOptions options_;
  // State.
  server::Leases leases_;
  std::uint64_t updates_ = 0;
};

// The first multiple of `every` that is greater than `examples`: with so many a snapshot is due.
// REQUIRES: every >= 1.
[[nodiscard]] constexpr std::uint64_t next_snapshot(std::uint64_t examples, std::uint64_t every) {
  return (examples / every + 1) * every;
}

}  // namespace outpace::collective
