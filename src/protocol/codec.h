// Converts messages to bytes and back, and checks everything that a peer sends.
//
// A connection carries packets of frames. A frame holds either a message and the size of its
// payload, or a chunk of the payload announced last. What decode() returns is within every limit of
// messages.h. What it refuses, it refuses with one line that names message and field:
// "push.examples must be at least 1". It allocates no more than a small multiple of the bytes
// received.
//
// Bulk numbers do not pass through here: a chunk is a header, and the caller moves the numbers.

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
// Precedes the numbers of a chunk. Both fields count numbers, not bytes.
struct ChunkHeader {
  std::uint64_t offset = 0;
  std::uint64_t numbers = 0;  // 1 to kChunkNumbers.

  bool operator==(const ChunkHeader&) const = default;
};
using Frame = std::variant<MessageFrame, ChunkHeader>;

inline constexpr std::uint64_t kChunkNumbers = kChunkBytes / sizeof(float);

// The message's name in errors and logs: "push".
[[nodiscard]] const char* name(const Message& message);
// True for weights and gradients; every other message has an empty payload.
[[nodiscard]] bool carries_payload(const Message& message);

// The bytes of a whole frame. Texts for people are cut at kTextMax. Throws a usage error if the
// message does not fit into a frame, which only a huge manifest can cause. REQUIRES:
// payload_numbers == 0 or carries_payload(message).
[[nodiscard]] std::string encode(const Message& message, std::uint64_t payload_numbers);
// The bytes of a chunk's frame before its numbers, which must follow exactly as they are in memory.
[[nodiscard]] std::string encode(const ChunkHeader& chunk);

// The bytes before a frame of `bytes` bytes in its packet.
[[nodiscard]] std::string encode_frame_head(std::uint64_t bytes);
// Reads a frame's head, `left` bytes before the end of its packet, and returns the size of the
// frame that follows. Throws an Error if there is no frame or the packet ends within it.
[[nodiscard]] std::uint64_t decode_frame_head(google::protobuf::io::ZeroCopyInputStream& packet,
                                              std::uint64_t left);

// Reads a frame of `bytes` bytes. For a chunk it reads only the header, and leaves exactly the
// numbers in the stream. Throws an Error if the frame breaks a rule.
[[nodiscard]] Frame decode(google::protobuf::io::ZeroCopyInputStream& frame, std::uint64_t bytes);

}  // namespace outpace::protocol
