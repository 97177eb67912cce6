// What both ends of a gRPC stream share: messages to gRPC messages and back, and the settings.
//
// Neither class is safe to use from two threads at a time; their owners see to that.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include <grpcpp/impl/codegen/call_op_set.h>  // WriteOptions.
#include <grpcpp/support/byte_buffer.h>

#include "live/transport.h"

namespace outpace::live {

// Of outpace.proto.
inline constexpr const char* kConnectMethod = "/outpace.wire.Outpace/Connect";

// How the metadata says it. Throws a usage error unless the token is printable ASCII without
// blanks: anything else could not be sent.
[[nodiscard]] std::string authorization(const std::string& token);

// gRPC's settings of a connection, the same on both sides.
struct Setting {
  const char* name;
  int value;
};
[[nodiscard]] std::span<const Setting> connection_settings();

// A queue of messages, cut into frames as they are asked for. Payloads are referred to, not copied.
class FrameWriter {
 public:
  // Throws a usage error if the message does not fit in a frame.
  void add(const protocol::Message& message, Payload payload);
  void clear() { queue_.clear(); }

  [[nodiscard]] bool empty() const { return queue_.empty(); }
  // The next frame of the oldest message. REQUIRES: !empty().
  [[nodiscard]] grpc::ByteBuffer next();

 private:
  struct Outgoing {
    std::string message;  // As bytes; empty once it has gone out.
    Payload payload;
    std::uint64_t sent = 0;  // Numbers of the payload.
  };

  std::deque<Outgoing> queue_;
};

// With more to come, a frame may wait for the next one, so that both go out at once.
[[nodiscard]] grpc::WriteOptions write_options(const FrameWriter& rest);

// Frames put together again.
class FrameReader {
 public:
  // Takes in one frame; returns the message that it completes, if it does. Memory for a payload
  // is allocated only if its message announces at most `authorised` numbers.
  // Throws an Error that says what is wrong with the frame; the stream is then of no more use.
  [[nodiscard]] std::optional<Received> take(grpc::ByteBuffer& frame, std::uint64_t authorised);

 private:
  std::optional<Received> pending_;  // Its payload is not whole yet.
  std::uint64_t announced_ = 0;      // Numbers in that payload.
};

}  // namespace outpace::live
