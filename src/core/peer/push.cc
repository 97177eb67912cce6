#include "peer/push.h"

#include "base/check.h"

namespace outpace::peer {

Actions Push::begin(const Meeting& meeting, const Draw& draw) {
  CHECK(!seeks() && !meeting.invited_by);
  visited_ = draw();
  return {Send{*visited_, Say::kPushed}, Await{*visited_, Say::kCame}};
}

Actions Push::knock(const Message& opening) {
  CHECK(opening.what == Say::kPushed);
  return door_.knock({opening.from}) ? Actions{Await{opening.from, Say::kPushed}} : Actions{};
}

Actions Push::came(const Message& message) {
  if (message.what == Say::kCame) {
    CHECK(visited_ == message.from);
    visited_.reset();
    return {Average{How::kNothing, message.from, /*own=*/true, /*over=*/true}};
  }
  const auto visitor = door_.inside();
  CHECK(message.what == Say::kPushed && visitor && visitor->rank == message.from);
  Actions actions{Average{How::kKeep, message.from}, Send{message.from, Say::kCame}};
  if (const auto next = door_.leave()) {
    actions.emplace_back(Await{next->rank, Say::kPushed});
  }
  return actions;
}

}  // namespace outpace::peer
