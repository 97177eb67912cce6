// Two workers of different sides (worker/neighbour.h) meet and both move halfway between what they
// sent. Lian et al., ICML 2018, algorithm 1 (AD-PSGD).
//
//   asks     answers
//   ask   ->            whether the other invited to it
//   offer ->            weights; both at once
//         <- answer     weights
//
// Coupled: each gradient goes with one meeting. For a gradient of a worker that answers, it invites
// one that asks, and that one then asks. Free: a worker that answers begins no meeting.

#pragma once

#include <cstdint>
#include <optional>

#include "peer/conversation.h"
#include "peer/door.h"

namespace outpace::peer {

class Coupled final : public Conversation {
 public:
  Coupled(std::uint32_t rank, bool free) : rank_(rank), free_(free) {}

  [[nodiscard]] Say opening() const override;
  [[nodiscard]] Actions begin(const Meeting& meeting, const Draw& draw) override;
  [[nodiscard]] Actions knock(const Message& opening) override;
  [[nodiscard]] Actions came(const Message& message) override;
  [[nodiscard]] bool seeks() const override { return asked_.has_value(); }

 private:
  struct Asked {
    std::uint32_t rank;
    bool own;
  };

  [[nodiscard]] bool asks() const;
  [[nodiscard]] Actions ask(const Asked& other);
  [[nodiscard]] Actions answered(const Message& message);
  [[nodiscard]] Actions offered(const Message& message);

  // Constant after construction.
  const std::uint32_t rank_;
  const bool free_;
  // State.
  std::optional<Asked> asked_;  // Its answer is awaited.
  Door door_;
};

}  // namespace outpace::peer
