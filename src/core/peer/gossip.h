// One worker of a gossip: its turns (turns.h) and its conversations (conversation.h) in one piece.
//
// Pure; for drivers of one thread. A driver whose threads seek and listen at the same time holds
// the two parts itself (collective/replica.h, collective/meetings.h). Calls, in this order:
//
//   join()            the worker is in a group, in this place
//   begin_gradient()  it begins to compute one
//   knock(), came()   as of a conversation; the driver keeps what comes before join()
//   waits()           whether a gradient that is ready waits for its averaging
//   apply()           it does not, and is applied
//   leave()           the group is over; then join() again
//   end()             it wants no further meeting, and still answers
//
// Each returns what to carry out, in order. What concerns the turns is done already.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "peer/averaging.h"
#include "peer/conversation.h"
#include "peer/turns.h"

namespace outpace::peer {

class Gossip {
 public:
  // REQUIRES: average_every >= 1.
  Gossip(Averaging averaging, std::uint32_t average_every, Journal journal = {})
      : averaging_(averaging),
        journal_(std::move(journal)),
        turns_(averaging, average_every, journal_) {}

  [[nodiscard]] Actions join(const Place& place, const Draw& draw);
  void leave();
  [[nodiscard]] Actions begin_gradient(const Draw& draw);
  [[nodiscard]] Actions knock(const Message& opening, const Draw& draw);
  [[nodiscard]] Actions came(const Message& message, const Draw& draw);
  void apply() { turns_.apply(); }
  void end() { turns_.end(); }

  [[nodiscard]] bool waits() const { return turns_.waits(); }
  [[nodiscard]] bool quiet() const { return turns_.quiet(); }
  [[nodiscard]] bool in_group() const { return conversation_ != nullptr; }
  // REQUIRES: in_group().
  [[nodiscard]] Say opening() const { return conversation_->opening(); }
  // Gradients that were begun, and meetings of its own that are over.
  [[nodiscard]] std::uint64_t gradients() const { return turns_.gradients(); }
  [[nodiscard]] std::uint64_t meetings() const { return turns_.meetings(); }

 private:
  // Tells the turns, and begins the meetings that may begin now.
  [[nodiscard]] Actions go_on(Actions actions, const Draw& draw);
  void tell_turns(const Actions& actions);

  // Constant after construction.
  const Averaging averaging_;
  const Journal journal_;
  // State.
  Turns turns_;
  std::unique_ptr<Conversation> conversation_;  // Null: in no group.
};

}  // namespace outpace::peer
