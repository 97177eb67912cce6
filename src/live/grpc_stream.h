// For both ends of a gRPC stream: turns packets into gRPC messages and back, and has the settings.

#pragma once

#include <atomic>
#include <functional>
#include <span>

#include <grpcpp/impl/codegen/call_op_set.h>  // WriteOptions.
#include <grpcpp/support/byte_buffer.h>

#include "live/packets.h"

namespace outpace::live {

// Of outpace.proto.
inline constexpr const char* kConnectMethod = "/outpace.wire.Outpace/Connect";

// How the metadata says it.
[[nodiscard]] std::string authorization(const std::string& token);

// gRPC's settings of a connection, the same on both sides.
struct Setting {
  const char* name;
  int value;
};
[[nodiscard]] std::span<const Setting> connection_settings();

// The writer's next packet. REQUIRES: it is not empty.
[[nodiscard]] grpc::ByteBuffer next_packet(PacketWriter& writer);

// The server's last packet, an empty one: it has said all, and waits for the client to end.
[[nodiscard]] grpc::ByteBuffer nothing();

// With more to come, a packet may wait for the next one, so that both go out at once.
[[nodiscard]] grpc::WriteOptions write_options(const PacketWriter& rest);

// PacketReader::take of what gRPC received.
void take_packet(PacketReader& reader,
                 grpc::ByteBuffer& packet,
                 const std::atomic<std::uint64_t>& authorised,
                 const std::function<void(Received)>& sink);

}  // namespace outpace::live
