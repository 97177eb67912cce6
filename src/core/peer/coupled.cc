#include "peer/coupled.h"

#include "base/check.h"
#include "worker/neighbour.h"

namespace outpace::peer {
namespace {

Actions answer(const Door::Visitor& visitor) {
  return {Send{visitor.rank, Say::kAnswer}, Await{visitor.rank, Say::kOffer}};
}

}  // namespace

bool Coupled::asks() const {
  return worker::side_of(rank_) == worker::Side::kAsks;
}

Say Coupled::opening() const {
  return asks() ? Say::kInvite : Say::kAsk;
}

Actions Coupled::begin(const Meeting& meeting, const Draw& draw) {
  CHECK(!seeks());
  if (meeting.invited_by) {
    return ask({.rank = *meeting.invited_by, .own = false});
  }
  if (asks()) {
    return ask({.rank = draw(), .own = true});
  }
  if (free_) {
    return {Skip{}};
  }
  return {Send{draw(), Say::kInvite}};  // It is over once that one has asked.
}

Actions Coupled::ask(const Asked& other) {
  asked_ = other;
  return {Send{other.rank, Say::kAsk, !other.own},
          Send{other.rank, Say::kOffer},
          Await{other.rank, Say::kAnswer}};
}

Actions Coupled::knock(const Message& opening) {
  CHECK(opening.what == this->opening());
  if (asks()) {
    return {Invited{opening.from}};
  }
  const Door::Visitor visitor{opening.from, opening.invited};
  return door_.knock(visitor) ? answer(visitor) : Actions{};
}

Actions Coupled::came(const Message& message) {
  return message.what == Say::kAnswer ? answered(message) : offered(message);
}

Actions Coupled::answered(const Message& message) {
  CHECK(asked_ && asked_->rank == message.from);
  const bool own = asked_->own;
  asked_.reset();
  return {Average{How::kHalfway, message.from, own, /*over=*/true}};
}

Actions Coupled::offered(const Message& message) {
  const auto visitor = door_.inside();
  CHECK(message.what == Say::kOffer && visitor && visitor->rank == message.from);
  // To a meeting of its own, this worker had invited the other.
  Actions actions{Average{How::kHalfway, message.from, visitor->invited, visitor->invited}};
  if (const auto next = door_.leave()) {
    for (const Action& action : answer(*next)) {
      actions.push_back(action);
    }
  }
  return actions;
}

}  // namespace outpace::peer
