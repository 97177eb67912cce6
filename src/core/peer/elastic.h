// A worker sends its weights to the first worker of the group, which holds the centre, and gets the
// centre. The weights move by a part of the difference, and so does the centre. Zhang, Choromanska,
// LeCun, "Deep learning with Elastic Averaging SGD", 2015, algorithm 1 (EASGD; EAMSGD if the
// optimizer is nesterov).
//
//   visits        holds the centre
//   to-centre ->                     weights
//             <- of-centre           the centre as it was before
//
// The holder meets the centre in its own memory.

#pragma once

#include <cstdint>

#include "peer/conversation.h"
#include "peer/door.h"

namespace outpace::peer {

class Elastic final : public Conversation {
 public:
  explicit Elastic(std::uint32_t rank) : rank_(rank) {}

  [[nodiscard]] Say opening() const override { return Say::kToCentre; }
  [[nodiscard]] Actions begin(const Meeting& meeting, const Draw& draw) override;
  [[nodiscard]] Actions knock(const Message& opening) override;
  [[nodiscard]] Actions came(const Message& message) override;
  [[nodiscard]] bool seeks() const override { return visits_; }

 private:
  const std::uint32_t rank_;
  bool visits_ = false;  // The centre is awaited.
  Door door_;
};

}  // namespace outpace::peer
