// The workers that want to talk to this one: it lets in one at a time, first come, first served.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace outpace::peer {

class Door {
 public:
  struct Visitor {
    std::uint32_t rank;
    bool invited = false;
  };

  // Whether it is let in at once. Otherwise leave() says when.
  [[nodiscard]] bool knock(const Visitor& visitor) {
    visitors_.push_back(visitor);
    return visitors_.size() == 1;
  }
  // Nobody, or the one that is in.
  [[nodiscard]] std::optional<Visitor> inside() const {
    return visitors_.empty() ? std::nullopt : std::optional(visitors_.front());
  }
  // The one that is in goes. Returns who is in now. REQUIRES: somebody is in.
  [[nodiscard]] std::optional<Visitor> leave() {
    visitors_.pop_front();
    return inside();
  }

 private:
  std::deque<Visitor> visitors_;  // The first one is in.
};

}  // namespace outpace::peer
