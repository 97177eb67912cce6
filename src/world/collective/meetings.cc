#include "collective/meetings.h"

#include <array>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace outpace::collective {
namespace {

constexpr std::uint32_t kCentre = 0;  // The rank of the worker that holds it.

using OneNumber = std::array<float, 1>;

}  // namespace

Meetings::Meetings(Averaging averaging,
                   float alpha,
                   std::uint32_t rank,
                   worker::Neighbours neighbours,
                   GlooGroup& group,
                   Replica& replica)
    : averaging_(averaging),
      alpha_(alpha),
      rank_(rank),
      neighbours_(std::move(neighbours)),
      group_(group),
      replica_(replica),
      seeking_{.then = {}, .theirs = std::vector<float>(replica.size())},
      listening_(seeking_) {}

void Meetings::run() {
  replica_.hold_centre(averaging_ == Averaging::kElastic && rank_ == kCentre);
  std::exception_ptr heard;
  std::exception_ptr sought;
  {
    const std::jthread listening([this, &heard] {
      try {
        listen();
      } catch (...) {
        heard = std::current_exception();
      }
      group_.abort();  // The other thread may wait in it, or for its next meeting.
      replica_.leave_group();
    });
    try {
      seek();
    } catch (...) {
      sought = std::current_exception();
    }
    group_.abort();
  }
  for (const std::exception_ptr& failure : {sought, heard}) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  throw GroupBroken("the group is to be left");
}

void Meetings::seek() {
  while (const auto meeting = replica_.begin_meeting()) {
    if (meeting->invited_by) {
      ask(*meeting->invited_by, false);
    } else {
      begin_own();
    }
  }
}

void Meetings::begin_own() {
  switch (averaging_) {
    case Averaging::kCoupled:
    case Averaging::kFree:
      if (asks()) {
        ask(neighbours_.next(), true);
      } else if (averaging_ == Averaging::kCoupled) {
        group_.send(neighbours_.next(), kInvite, OneNumber{});  // It is over once that one asks.
      } else {
        replica_.skip();
      }
      return;
    case Averaging::kPull:
      pull();
      return;
    case Averaging::kPush:
      push();
      return;
    case Averaging::kElastic:
      meet_centre();
      return;
  }
}

void Meetings::ask(std::uint32_t neighbour, bool own) {
  group_.send(neighbour, kAsk, OneNumber{own ? 0.0F : 1.0F});
  auto& [then, theirs] = seeking_;
  replica_.copy_weights(then);
  group_.exchange(neighbour, kOffer, then, kAnswer, theirs);
  replica_.meet_halfway(then, theirs, own);
}

void Meetings::pull() {
  const std::uint32_t neighbour = neighbours_.next();
  group_.send(neighbour, kRequest, OneNumber{});
  group_.receive(neighbour, kReply, seeking_.theirs);
  group_.send(neighbour, kCame, OneNumber{});
  replica_.pulled(seeking_.theirs);
}

void Meetings::push() {
  replica_.copy_weights(seeking_.then);
  OneNumber came{};
  group_.exchange(neighbours_.next(), kPushed, seeking_.then, kCame, came);
  replica_.sent();
}

void Meetings::meet_centre() {
  if (rank_ == kCentre) {
    replica_.meet_centre(alpha_);
    return;
  }
  auto& [then, centre] = seeking_;
  replica_.copy_weights(then);
  group_.send(kCentre, kToCentre, then);
  group_.receive(kCentre, kOfCentre, centre);
  replica_.meet_centre(then, centre, alpha_);
}

void Meetings::listen() {
  switch (averaging_) {
    case Averaging::kCoupled:
    case Averaging::kFree:
      asks() ? take_invitations() : answer();
      return;
    case Averaging::kPull:
      give();
      return;
    case Averaging::kPush:
      take_pushes();
      return;
    case Averaging::kElastic:
      answer_for_centre();
      return;
  }
}

void Meetings::answer() {
  OneNumber invited{};
  auto& [then, theirs] = listening_;
  while (const auto neighbour = group_.receive_any(kAsk, invited)) {
    replica_.copy_weights(then);
    group_.exchange(*neighbour, kAnswer, then, kOffer, theirs);
    replica_.meet_halfway(then, theirs, invited.front() != 0.0F);
  }
}

void Meetings::take_invitations() {
  OneNumber nothing{};
  while (const auto neighbour = group_.receive_any(kInvite, nothing)) {
    replica_.invited(*neighbour);
  }
}

// What was sent is in a buffer of the kernel. The next visit begins once it has come: two at once
// would both take twice as long.
void Meetings::give() {
  OneNumber nothing{};
  while (const auto neighbour = group_.receive_any(kRequest, nothing)) {
    replica_.copy_weights(listening_.then);
    group_.exchange(*neighbour, kReply, listening_.then, kCame, nothing);
  }
}

void Meetings::take_pushes() {
  while (const auto neighbour = group_.receive_any(kPushed, listening_.theirs)) {
    replica_.push_in(listening_.theirs);
    group_.send(*neighbour, kCame, OneNumber{});
  }
}

// Where the centre is not, nothing comes, and this ends with the group.
void Meetings::answer_for_centre() {
  auto& theirs = listening_.theirs;
  while (const auto worker = group_.receive_any(kToCentre, theirs)) {
    group_.send(*worker, kOfCentre, replica_.answer_of_centre(theirs, alpha_));
  }
}

}  // namespace outpace::collective
