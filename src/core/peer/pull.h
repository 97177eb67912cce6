// A worker asks for a neighbour's weights and moves halfway to them; the neighbour stays. Jin,
// Yuan, Iandola, Keutzer, "How to scale distributed deep learning?", 2016.
//
//   visits      is visited
//   request ->
//           <- reply     weights
//   came    ->           the next visit may begin: two at once would both take twice as long

#pragma once

#include <cstdint>
#include <optional>

#include "peer/conversation.h"
#include "peer/door.h"

namespace outpace::peer {

class Pull final : public Conversation {
 public:
  [[nodiscard]] Say opening() const override { return Say::kRequest; }
  [[nodiscard]] Actions begin(const Meeting& meeting, const Draw& draw) override;
  [[nodiscard]] Actions knock(const Message& opening) override;
  [[nodiscard]] Actions came(const Message& message) override;
  [[nodiscard]] bool seeks() const override { return visited_.has_value(); }

 private:
  std::optional<std::uint32_t> visited_;  // Its reply is awaited.
  Door door_;
};

}  // namespace outpace::peer
