// Assigns examples to the workers of a ring without a coordinator: every worker replays the
// server's leases on its own, and all come to the same result.
//
// In each update, each worker in order takes the next full mini-batch of the epoch's order, exactly
// as `--policy sync` hands them out while all workers are live. At the end of the last epoch, some
// workers get less, or nothing.

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
  // Limits; 0: none. The first limit reached ends the run.
  std::uint64_t updates = 0;
  std::uint64_t iterations = 0;  // Counted in gradients, `workers` of them per update.
  std::uint64_t epochs = 0;
};

class BatchPlan {
 public:
  struct Update {
    protocol::Ranges own;  // May be empty.
    std::uint32_t own_examples = 0;
    std::uint64_t examples = 0;  // Over all workers; at least 1.
  };

  explicit BatchPlan(const BatchPlanOptions& options);

  // The next update from the point of view of `worker`; nothing once a limit is reached.
  [[nodiscard]] std::optional<Update> next(WorkerId worker);

 private:
  // Constant after construction.
  BatchPlanOptions options_;
  // State.
  server::Leases leases_;
  std::uint64_t updates_ = 0;
};

// The first multiple of `every` greater than `examples`: the next snapshot is due then. REQUIRES:
// every >= 1.
[[nodiscard]] constexpr std::uint64_t next_snapshot(std::uint64_t examples, std::uint64_t every) {
  return (examples / every + 1) * every;
}

}  // namespace outpace::collective
