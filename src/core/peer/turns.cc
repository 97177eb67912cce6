#include "peer/turns.h"

#include "base/check.h"

namespace outpace::peer {

void Turns::begin_gradient() {
  const bool wants = begins_averaging(gradients_++, average_every_);
  wanted_ = wanted_ || wants;
  note("gradient", wants ? "wants a meeting" : "");
}

void Turns::apply() {
  CHECK(!waits());
  note("apply");
}

void Turns::invited(std::uint32_t by) {
  invitations_.push_back(by);
  if (journal_) {
    journal_("invited:by=" + std::to_string(by), "");
  }
}

void Turns::end() {
  ending_ = true;
  note("end");
}

void Turns::connected() {
  connected_ = true;
  note("connected");
}

void Turns::disconnected() {
  connected_ = false;
  begun_ = false;
  serving_ = false;
  invitations_.clear();
  note("disconnected");
}

Meeting Turns::begin() {
  CHECK(ready());
  Meeting meeting;
  if (own()) {
    begun_ = true;
  } else {
    meeting.invited_by = invitations_.front();
    invitations_.pop_front();
    serving_ = true;
  }
  if (journal_) {
    journal_("turn",
             meeting.invited_by ? "meets " + std::to_string(*meeting.invited_by) + ", by invitation"
                                : "has its own meeting");
  }
  return meeting;
}

void Turns::over(bool own) {
  if (own) {
    wanted_ = false;
    begun_ = false;
    ++meetings_;
  } else {
    serving_ = false;
  }
  note(own ? "over:own=1" : "over");
}

void Turns::skip() {
  wanted_ = false;
  begun_ = false;
  note("skip");
}

}  // namespace outpace::peer
