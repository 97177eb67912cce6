// What both ends of a gRPC stream share: messages to gRPC messages and back, and the settings.
//
// Neither class is safe to use from two threads at a time; their owners see to that.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <grpcpp/impl/codegen/call_op_set.h>  // WriteOptions.
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include "live/transport.h"

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

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

// A queue of messages, made into packets as they are asked for. Payloads are referred to, not
// copied.
class PacketWriter {
 public:
  // Throws a usage error if the message does not fit in a frame.
  void add(const protocol::Message& message, Payload payload);
  void clear() { queue_.clear(); }

  [[nodiscard]] bool empty() const { return queue_.empty(); }
  // The next packet: all that is queued, or as much as is worth sending at once. REQUIRES:
  // !empty().
  [[nodiscard]] grpc::ByteBuffer next();

 private:
  struct Outgoing {
    std::string message;  // As bytes; empty once it has gone out.
    Payload payload;
    std::uint64_t sent = 0;  // Numbers of the payload.
  };

  // The oldest message's next frame, behind its head, goes to the end of `packet`. Returns its
  // size.
  std::size_t add_frame(std::vector<grpc::Slice>& packet);

  std::deque<Outgoing> queue_;
};

// With more to come, a packet may wait for the next one, so that both go out at once.
[[nodiscard]] grpc::WriteOptions write_options(const PacketWriter& rest);

// Messages put together again.
class PacketReader {
 public:
  // Takes in one packet; calls `sink` with each message that it completes. Memory for a payload
  // is allocated only if its message announces at most `authorised` numbers, which `sink` may
  // change. Throws an Error that says what is wrong with a frame; the stream is then of no more
  // use.
  void take(grpc::ByteBuffer& packet,
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
