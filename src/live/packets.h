// Turns messages with payloads into packets and back, for every transport.
//
// Neither class may be used from two threads at a time; its owner must lock.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/transport.h"

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace outpace::live {

// Bytes that are sent without a copy: its own, or those of a payload, which it keeps alive.
class Piece {
 public:
  explicit Piece(std::string bytes) : bytes_(std::move(bytes)) {}
  // REQUIRES: the payload has these numbers.
  Piece(Payload payload, std::uint64_t offset, std::uint64_t numbers)
      : payload_(std::move(payload)), offset_(offset), numbers_(numbers) {}

  [[nodiscard]] std::string_view view() const {
    return payload_ ? std::string_view(reinterpret_cast<const char*>(payload_->data() + offset_),
                                       numbers_ * sizeof(float))
                    : std::string_view(bytes_);
  }
  // Null if the bytes are its own.
  [[nodiscard]] const Payload& payload() const { return payload_; }
  // REQUIRES: no payload.
  void append(const std::string& more) { bytes_ += more; }

 private:
  std::string bytes_;
  Payload payload_;
  std::uint64_t offset_ = 0;
  std::uint64_t numbers_ = 0;
};

// A queue of messages, which next() turns into packets. Payloads are referred to, not copied.
class PacketWriter {
 public:
  // Throws a usage error if the message does not fit in a frame.
  void add(const protocol::Message& message, Payload payload);
  void clear() { queue_.clear(); }

  [[nodiscard]] bool empty() const { return queue_.empty(); }
  // The next packet: all queued bytes, or as many as are worth sending at once. REQUIRES:
  // !empty().
  [[nodiscard]] std::vector<Piece> next();

 private:
  struct Outgoing {
    std::string message;  // As bytes; empty once it has gone out.
    Payload payload;
    std::uint64_t sent = 0;  // Numbers of the payload.
  };

  // The oldest message's next frame, behind its head, goes to the end of `packet`. Returns its
  // size.
  std::size_t add_frame(std::vector<Piece>& packet);

  std::deque<Outgoing> queue_;
};

// Puts messages together again from packets.
class PacketReader {
 public:
  // Takes in one packet of `bytes` bytes; calls `sink` with each message that it completes. Memory
  // for a payload is allocated only if its message announces at most `authorised` numbers, which
  // `sink` may change. Throws an Error that says what is wrong with a frame; the stream cannot be
  // used after that.
  void take(google::protobuf::io::ZeroCopyInputStream& packet,
            std::uint64_t bytes,
            const std::atomic<std::uint64_t>& authorised,
            const std::function<void(Received)>& sink);

 private:
  // The message that the frame completes, if it does.
  [[nodiscard]] std::optional<Received> take_frame(google::protobuf::io::ZeroCopyInputStream& frame,
                                                   std::uint64_t bytes,
                                                   std::uint64_t authorised);

  std::optional<Received> pending_;  // Its payload is not whole yet.
  std::uint64_t announced_ = 0;      // Numbers in that payload.
};

}  // namespace outpace::live
