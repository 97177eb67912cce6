// Assigns examples to the workers of a ring without a coordinator: every worker replays the
// server's leases on its own, and all come to the same result.
//
// In each update, each live worker in order takes the next full mini-batch of the epoch's order,
// exactly as `--policy sync` hands them out. At the end of the last epoch, some workers get less,
// or nothing. An update that broke off is put back, so that its examples go to those that are left.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/messages.h"
#include "server/leases.h"

namespace outpace::peer {

struct BatchPlanOptions {
  std::uint32_t workers = 1;
  std::uint32_t batch = 32;
  std::uint64_t examples = 1;  // In the data set.
  // Limits; 0: none. The first limit reached ends the run.
  std::uint64_t updates = 0;
  std::uint64_t iterations = 0;  // Counted in gradients, one of each live worker per update.
  std::uint64_t epochs = 0;
};

class BatchPlan {
 public:
  struct Update {
    protocol::Ranges own;  // May be empty.
    std::uint32_t own_examples = 0;
    std::uint64_t examples = 0;         // Over all workers; at least 1.
    std::vector<std::uint32_t> shares;  // Examples of each live worker, in their order.
  };

  // All workers are live at first.
  explicit BatchPlan(const BatchPlanOptions& options);

  // The workers that take part from the next update on. REQUIRES: at least one.
  void set_workers(std::vector<WorkerId> live);
  [[nodiscard]] const std::vector<WorkerId>& workers() const { return live_; }

  // The next update from the point of view of `worker`; nothing once a limit is reached.
  [[nodiscard]] std::optional<Update> next(WorkerId worker);
  // The last update that next() gave was not made. REQUIRES: next() gave one since the last call.
  void put_back();

  // What all workers have made until now.
  struct Made {
    std::uint64_t updates = 0;
    std::uint64_t gradients = 0;
    std::uint64_t examples = 0;
  };
  // Goes on from there. The examples of all updates that were made are the first of the order, so
  // their number says which is the next one.
  void go_on_from(const Made& made);
  // Counted in gradients, of updates that were made or are being made.
  [[nodiscard]] std::uint64_t gradients() const { return done_.gradients; }

 private:
  struct Progress {
    server::Leases leases;
    std::uint64_t updates = 0;
    std::uint64_t gradients = 0;
  };

  // Constant after construction.
  BatchPlanOptions options_;
  // State.
  std::vector<WorkerId> live_;
  Progress done_;
  std::optional<Progress> before_;  // Before the last update.
};

// The first multiple of `every` greater than `examples`: the next snapshot is due then. REQUIRES:
// every >= 1.
[[nodiscard]] constexpr std::uint64_t next_snapshot(std::uint64_t examples, std::uint64_t every) {
  return (examples / every + 1) * every;
}

}  // namespace outpace::peer
