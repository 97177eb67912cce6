// A worker sends its weights to a neighbour. The neighbour averages, before its next step, its
// weights and all that came. Jin, Yuan, Iandola, Keutzer, "How to scale distributed deep
// learning?", 2016.
//
//   visits     is visited
//   pushed ->            weights, once the other takes them: it takes in one visitor at a time
//          <- came

#pragma once

#include <cstdint>
#include <optional>

#include "peer/conversation.h"
#include "peer/door.h"

namespace outpace::peer {

class Push final : public Conversation {
 public:
  [[nodiscard]] Say opening() const override { return Say::kPushed; }
  [[nodiscard]] Actions begin(const Meeting& meeting, const Draw& draw) override;
  [[nodiscard]] Actions knock(const Message& opening) override;
  [[nodiscard]] Actions came(const Message& message) override;
  [[nodiscard]] bool seeks() const override { return visited_.has_value(); }

 private:
  std::optional<std::uint32_t> visited_;  // Its word that the weights came is awaited.
  Door door_;
};

}  // namespace outpace::peer
