// Which workers are live, and what a policy knows of each: a vector indexed by worker.
//
// Grows when a worker joins, so that no other event allocates. Every policy holds one of these.

#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/prefetch.h"

namespace outpace::policy {

template <typename State>
class Members {
 public:
  // Starts from a new State, also for one that was here before: it may be another process now.
  State& join(WorkerId worker) {
    if (index(worker) >= members_.size()) {
      members_.resize(index(worker) + 1);
    }
    Member& member = members_[index(worker)];
    CHECK(!member.live);
    member = {.live = true, .state = {}};
    ++live_;
    return member.state;
  }

  // The state as it was last. REQUIRES: the worker is live.
  State leave(WorkerId worker) {
    const State last = (*this)[worker];
    members_[index(worker)].live = false;
    --live_;
    return last;
  }

  // REQUIRES: the worker is live.
  [[nodiscard]] State& operator[](WorkerId worker) {
    CHECK(index(worker) < members_.size() && members_[index(worker)].live);
    return members_[index(worker)].state;
  }

  [[nodiscard]] std::uint32_t live() const { return live_; }
  [[nodiscard]] bool is_live(WorkerId worker) const {
    return index(worker) < members_.size() && members_[index(worker)].live;
  }

  // As Policy::prepare().
  void prepare(WorkerId worker) const {
    if (index(worker) < members_.size()) {
      prefetch(members_[index(worker)]);
    }
  }

  // Calls visit(worker, state) for every live worker, in worker order.
  template <typename Visit>
  void for_each(Visit visit) {
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      if (members_[i].live) {
        visit(WorkerId{i}, members_[i].state);
      }
    }
  }

 private:
  struct Member {
    bool live = false;
    State state{};
  };

  std::vector<Member> members_;
  std::uint32_t live_ = 0;
};

}  // namespace outpace::policy
