// What must hold of workers without a server, event by event.
//
//   I20  a sum has a term of each worker of its group, once; every worker applies the same sums in
//        the same order, each once
//   I21  an average is of two workers of one meeting; a meeting moves each of them at most once
//   I22  nobody waits for a worker that is gone, once that can be known; a run does not stand still
//   I23  an example of an epoch is applied once, whatever dies, and each is if no worker is lost
//        or the epochs end
//
// What a worker waits for, its driver knows; the rest follows from the actions.

#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "invariants/positions.h"
#include "peer/conversation.h"
#include "protocol/messages.h"

namespace outpace::invariants {

// One all-reduce: the sum that makes this version, in the group of this generation.
struct SumId {
  std::uint32_t generation = 0;
  std::uint64_t version = 0;
  auto operator<=>(const SumId&) const = default;  // NOLINT(modernize-use-nullptr)
};

// I20 and I23, of a ring. All throw Violation.
class Sums {
 public:
  explicit Sums(std::uint64_t examples) : examples_(examples) {}

  // The worker adds its term, the gradient of these examples, to the sum.
  void term(const SumId& sum, WorkerId worker, const protocol::Ranges& own);
  // The sum is complete.
  void complete(const SumId& sum, const std::vector<WorkerId>& group);
  // The worker takes the step of this sum, of this many examples.
  void applied(const SumId& sum, WorkerId worker, std::uint64_t examples);
  // The worker is gone, with its weights. A version that nobody else has reached is made anew.
  void lost(WorkerId worker);
  // The run ends; `epochs`: that it was to have, 0 for none.
  void ended(std::uint64_t epochs) const;

 private:
  struct Sum {
    std::map<WorkerId, protocol::Ranges> terms;
    bool complete = false;
  };
  struct Made {
    SumId sum;
    std::set<WorkerId> by;  // Workers that have applied it and are not gone.
  };
  void use(const Sum& sum, std::uint64_t examples);

  // Constant after construction.
  const std::uint64_t examples_;
  // State.
  std::map<SumId, Sum> sums_;              // Not yet applied, or of the newest version.
  std::map<std::uint64_t, Made> made_of_;  // By version.
  std::map<WorkerId, std::uint64_t> at_;   // Version of each worker.
  std::uint64_t newest_ = 0;
  Positions used_;
};

// I21, of a gossip. Workers are named by their rank in the group of a generation. Throws Violation.
class Meetings {
 public:
  // The worker carries out this action.
  void acts(std::uint32_t generation, std::uint32_t rank, const peer::Action& action);
  // Whether another one that this worker began is open.
  [[nodiscard]] std::size_t open() const { return open_.size(); }

 private:
  struct Meeting {
    std::uint32_t generation;
    std::uint32_t seeks;
    std::uint32_t answers;
    bool sought = false;    // The one that began it has moved.
    bool answered = false;  // The other has moved, or given its weights.
  };
  void begins(std::uint32_t generation, std::uint32_t seeks, std::uint32_t answers);
  void moves(std::uint32_t generation, std::uint32_t seeks, std::uint32_t answers, bool sought);

  std::deque<Meeting> open_;
};

}  // namespace outpace::invariants
