#include "peer/pull.h"

#include "base/check.h"

namespace outpace::peer {
namespace {

Actions reply_to(std::uint32_t visitor) {
  return {Send{visitor, Say::kReply}, Await{visitor, Say::kCame}};
}

}  // namespace

Actions Pull::begin(const Meeting& meeting, const Draw& draw) {
  CHECK(!seeks() && !meeting.invited_by);
  visited_ = draw();
  return {Send{*visited_, Say::kRequest}, Await{*visited_, Say::kReply}};
}

Actions Pull::knock(const Message& opening) {
  CHECK(opening.what == Say::kRequest);
  return door_.knock({opening.from}) ? reply_to(opening.from) : Actions{};
}

Actions Pull::came(const Message& message) {
  if (message.what == Say::kReply) {
    CHECK(visited_ == message.from);
    visited_.reset();
    return {Send{message.from, Say::kCame},
            Average{How::kTowards, message.from, /*own=*/true, /*over=*/true}};
  }
  const auto visitor = door_.inside();
  CHECK(message.what == Say::kCame && visitor && visitor->rank == message.from);
  const auto next = door_.leave();
  return next ? reply_to(next->rank) : Actions{};
}

}  // namespace outpace::peer
