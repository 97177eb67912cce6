#include "peer/turns.h"

#include "base/check.h"

namespace outpace::peer {

void Turns::disconnected() {
  connected_ = false;
  begun_ = false;
  serving_ = false;
  invitations_.clear();
}

Meeting Turns::begin() {
  CHECK(ready());
  if (own()) {
    begun_ = true;
    return {};
  }
  const std::uint32_t by = invitations_.front();
  invitations_.pop_front();
  serving_ = true;
  return {by};
}

void Turns::over(bool own) {
  if (!own) {
    serving_ = false;
    return;
  }
  wanted_ = false;
  begun_ = false;
  ++meetings_;
}

void Turns::skip() {
  wanted_ = false;
  begun_ = false;
}

}  // namespace outpace::peer
