// Messages to bytes and back: the place where what a peer says is checked.
//
// A connection carries packets of frames. A frame holds a message and the size of its payload, or a
// chunk of the payload that was announced last. What decode() returns is within every limit of
// messages.h; what it refuses, it refuses with one line that names message and field:
// "push.examples must be at least 1". Nothing is allocated beyond a small multiple of the bytes at
// hand.
//
// Bulk numbers never pass through here: a chunk is a header, and the caller moves the numbers.

#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "protocol/messages.h"

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace outpace::protocol {

// A message that is followed by the chunks of its payload, if that is not empty.
struct MessageFrame {
  Message message;
  std::uint64_t payload_numbers = 0;
};
// What precedes the numbers of a chunk. Both are counted in numbers, not in bytes.
struct ChunkHeader {
  std::uint64_t offset = 0;
  std::uint64_t numbers = 0;  // 1 to kChunkNumbers.

  bool operator==(const ChunkHeader&) const = default;
};
using Frame = std::variant<MessageFrame, ChunkHeader>;

inline constexpr std::uint64_t kChunkNumbers = kChunkBytes / sizeof(float);

// Its name in errors and logs: "push".
[[nodiscard]] const char* name(const Message& message);
// Weights and gradients do; every other message has an empty payload.
[[nodiscard]] bool carries_payload(const Message& message);

// The bytes of a whole frame. Texts for people are cut at kTextMax. Throws a usage error if the
// message does not fit in a frame, which only a huge manifest can bring about.
// REQUIRES: payload_numbers == 0 or carries_payload(message).
[[nodiscard]] std::string encode(const Message& message, std::uint64_t payload_numbers);
// The bytes of a frame up to its numbers, which must follow as they lie in memory.
[[nodiscard]] std::string encode(const ChunkHeader& chunk);

// The bytes that go before a frame of `bytes` bytes in its packet.
[[nodiscard]] std::string encode_frame_head(std::uint64_t bytes);
// Reads a frame's head, `left` bytes before the end of its packet; returns the size of the frame
// that follows. Throws an Error if there is none, or less of it than it says.
[[nodiscard]] std::uint64_t decode_frame_head(google::protobuf::io::ZeroCopyInputStream& packet,
                                              std::uint64_t left);

// Reads a frame of `bytes` bytes. Of a chunk it reads the header alone: exactly its numbers are
// left in the stream. Throws an Error if the frame breaks a rule.
[[nodiscard]] Frame decode(google::protobuf::io::ZeroCopyInputStream& frame, std::uint64_t bytes);

}  // namespace outpace::protocol
