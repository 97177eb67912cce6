// One worker of a ring: synchronous SGD without a server (collective/ring.h says more).
//
// Pure. All workers of a ring decide the same from the same calls, so nobody tells another what to
// compute or when to stop. A driver calls, in this order,
//
//   formed()  the host named the group, and all its members have joined
//   summed()  the sum that Compute or CatchUp asked for is complete on this worker
//   took()    what TakeOver asked for has come
//   broken()  the group is over, at any time; then formed() again
//
// and carries out the actions that the first three return, in their order. The last of them is a
// CatchUp, a TakeOver, a Compute or a Finish.
//
// A worker that dies breaks the open sum on all others: none of them applies a part of it. A sum
// may be complete on some workers and not on others: these get it from one that has it. A newcomer
// gets all that the others have: the weights, the optimizer's state, and how far the run has come.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "peer/batch_plan.h"
#include "peer/journal.h"
#include "protocol/messages.h"

namespace outpace::peer {

class Ring {
 public:
  struct Options {
    WorkerId worker{};
    BatchPlanOptions batches;
    std::uint64_t evaluate_every = 5120;  // Applied examples. REQUIRES: at least 1.
  };

  // ---- Actions ----

  // Send the sum of the newest update to this member of the group.
  struct HandOn {
    WorkerId to;
  };
  // Receive the sum of the open update from this member, and call summed().
  struct CatchUp {
    WorkerId from;
  };
  // How far the run has come, for a newcomer.
  struct Come {
    BatchPlan::Made made;
    bool ended = false;  // By votes.
  };
  // Send this, and the weights and the optimizer's state as they are now, to this newcomer.
  struct HandOver {
    WorkerId to;
    Come come;
  };
  // Receive all that from this member, and call took().
  struct TakeOver {
    WorkerId from;
  };
  // Compute this worker's term of the next update, add it to the group's sum, and call summed().
  struct Compute {
    BatchPlan::Update update;
    Sequence sequence;  // The version that the update makes.
  };
  // Take the step with the sum.
  struct Apply {
    std::uint64_t examples;  // This update's, over all workers.
    std::uint64_t applied;   // The whole run's, including these.
    Version version;         // That the step makes.
    bool brings;             // This worker sends the weights to the evaluator.
  };
  // There is no update left. broken() and formed() may follow.
  struct Finish {};
  using Action = std::variant<HandOn, CatchUp, HandOver, TakeOver, Compute, Apply, Finish>;
  using Actions = std::vector<Action>;

  explicit Ring(const Options& options, Journal journal = {});

  // REQUIRES: this worker is a member, and can_form().
  [[nodiscard]] Actions formed(const protocol::Group& group);
  // `votes`: a worker that computed a term of this sum wants to end. REQUIRES: awaits_sum().
  [[nodiscard]] Actions summed(bool votes);
  // REQUIRES: takes_over().
  [[nodiscard]] Actions took(const Come& come);
  void broken();

  // It is in no group, and is a newcomer of this one, or has its version, or the update before it
  // open.
  [[nodiscard]] bool can_form(const protocol::Group& group) const;
  [[nodiscard]] bool awaits_sum() const {
    return phase_ == Phase::kCatchesUp || phase_ == Phase::kComputes;
  }
  [[nodiscard]] bool takes_over() const { return phase_ == Phase::kTakesOver; }
  // Updates applied.
  [[nodiscard]] Version version() const { return Version{version_}; }
  // The workers of the present group, or of the last.
  [[nodiscard]] const std::vector<WorkerId>& workers() const { return plan_.workers(); }

 private:
  enum class Phase : std::uint8_t { kOut, kCatchesUp, kTakesOver, kComputes, kFinished };

  [[nodiscard]] Actions form(const protocol::Group& group);
  [[nodiscard]] Apply apply(bool votes);
  // The next update, or the end.
  [[nodiscard]] Action go_on();

  // Constant after construction.
  const Options options_;
  const Journal journal_;
  // State.
  Phase phase_ = Phase::kOut;
  BatchPlan plan_;
  std::uint64_t version_ = 0;
  std::optional<BatchPlan::Update> open_;  // Update version_ + 1, once it is begun.
  std::vector<WorkerId> members_;          // The group that this worker catches up with.
  bool ended_ = false;                     // By votes: version_ is the last update.
  std::uint64_t applied_ = 0;              // Examples.
  std::uint64_t snapshot_due_;             // In examples.
};

// "computes 4 of 12 examples for version 3", for a worker that is named before.
[[nodiscard]] std::string to_words(const Ring::Action& action);

}  // namespace outpace::peer
