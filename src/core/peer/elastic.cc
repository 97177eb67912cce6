#include "peer/elastic.h"

#include "base/check.h"

namespace outpace::peer {

Actions Elastic::begin(const Meeting& meeting, const Draw& /*draw*/) {
  CHECK(!seeks() && !meeting.invited_by);
  if (rank_ == kCentre) {
    return {Average{How::kCentreHere, kCentre, /*own=*/true, /*over=*/true}};
  }
  visits_ = true;
  return {Send{kCentre, Say::kToCentre}, Await{kCentre, Say::kOfCentre}};
}

Actions Elastic::knock(const Message& opening) {
  CHECK(opening.what == Say::kToCentre && rank_ == kCentre);
  return door_.knock({opening.from}) ? Actions{Await{opening.from, Say::kToCentre}} : Actions{};
}

Actions Elastic::came(const Message& message) {
  if (message.what == Say::kOfCentre) {
    CHECK(visits_ && message.from == kCentre);
    visits_ = false;
    return {Average{How::kWithCentre, kCentre, /*own=*/true, /*over=*/true}};
  }
  const auto visitor = door_.inside();
  CHECK(message.what == Say::kToCentre && visitor && visitor->rank == message.from);
  Actions actions{Average{How::kCentre, message.from}, Send{message.from, Say::kOfCentre}};
  if (const auto next = door_.leave()) {
    actions.emplace_back(Await{next->rank, Say::kToCentre});
  }
  return actions;
}

}  // namespace outpace::peer
