// Converts messages to bytes and back, and checks everything that a peer sends.
//
// A frame holds a message and the size of its payload; the numbers do not pass through here. What
// decode() returns is within every limit of messages.h. What it refuses, it refuses with one line
// that names message and field: "push.examples must be at least 1". It allocates no more than a
// small multiple of the bytes received.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/messages.h"
#include "protocol/packing.h"

namespace outpace::protocol {

// A message, and how many numbers its payload has.
struct Frame {
  Message message;
  std::uint64_t payload_numbers = 0;
  std::optional<Packing> packing{};  // Nothing: each number is a float32.
};

// The message's name in errors and logs: "push".
[[nodiscard]] const char* name(const Message& message);
// True for weights and gradients; every other message has an empty payload.
[[nodiscard]] bool carries_payload(const Message& message);

// The bytes of a whole frame. Texts for people are cut at kTextMax. Throws a usage error if the
// message does not fit into a frame, which only a huge manifest can cause. REQUIRES:
// payload_numbers == 0 or carries_payload(message).
[[nodiscard]] std::string encode(const Message& message,
                                 std::uint64_t payload_numbers,
                                 const std::optional<Packing>& packing = std::nullopt);

// Throws an Error if the frame breaks a rule.
[[nodiscard]] Frame decode(std::string_view frame);

}  // namespace outpace::protocol
