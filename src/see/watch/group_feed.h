// Tells a board of a run without a server, in which nobody decides: each gradient that a worker
// reports is taken up, in a ring into the update that all make together, in a gossip into an update
// of that worker's own weights.
//
// Pure. A ring's workers report an update when they have made it. When each was done computing
// follows from its runtime, so a ring's update is told when it is complete.

#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "watch/board.h"

namespace outpace::watch {

class GroupFeed {
 public:
  struct Report {
    WorkerId worker;
    std::uint64_t number = 0;  // Counted by the worker, from 1; in a ring, the update's.
    std::uint32_t examples = 1;
    double runtime = 0.0;  // Seconds from the weights to the gradient.
  };

  // `together`: a ring.
  explicit GroupFeed(bool together) : together_(together) {}

  void joined(Board& board, Time now, WorkerId worker);
  void left(Board& board, Time now, WorkerId worker, policy::Departure how);
  // `updates`: that are made so far, this report heard.
  void reported(Board& board, Time now, const Report& report, std::uint64_t updates);
  // Until when all was told that can be; a ring that hangs is shown all the same.
  [[nodiscard]] Time told(Time now) const;

 private:
  void accept(Board& board, Time now, const Report& report, std::vector<policy::Action> actions);
  void commit(Board& board, Time now, std::uint64_t updates);

  const bool together_;
  std::uint64_t version_ = 0;
  std::uint64_t releases_ = 0;   // Told so far: workers number theirs alike.
  Time begun_{};                 // When the present update began, in a ring.
  std::vector<Report> waiting_;  // For their update, in a ring.
  std::vector<WorkerId> live_;
};

}  // namespace outpace::watch
