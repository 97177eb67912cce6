// Tested by src/live/transport_test.cc.

#include "live/grpc_stream.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include "protocol/messages.h"

namespace outpace::live {
namespace {

// A view of the piece, which is kept alive for as long as gRPC needs the bytes.
grpc::Slice slice_of(Piece piece) {
  auto owner = std::make_unique<Piece>(std::move(piece));
  const std::string_view bytes = owner->view();
  // gRPC has no slice of constant bytes, but does not write to this one.
  void* begin = const_cast<char*>(bytes.data());
  const auto release = [](void* taken) {
    const std::unique_ptr<Piece> returned(static_cast<Piece*>(taken));
  };
  return {begin, bytes.size(), release, owner.release()};
}

}  // namespace

std::string authorization(const std::string& token) {
  return "Bearer " + token;
}

std::span<const Setting> connection_settings() {
  static constexpr std::array kSettings = {
      Setting{GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(protocol::kPacketBytesMax)},
      // A dead peer is noticed after at most the sum, whatever the heartbeats of the job are.
      Setting{GRPC_ARG_KEEPALIVE_TIME_MS, 10'000},
      Setting{GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000},
      // A worker that computes for minutes says nothing meanwhile; pings are then no nuisance.
      Setting{GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
      Setting{GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0},
      // A small compressed frame may become a large one: none is accepted.
      Setting{GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0},
  };
  return kSettings;
}

grpc::ByteBuffer next_packet(PacketWriter& writer) {
  std::vector<grpc::Slice> slices;
  for (Piece& piece : writer.next()) {
    slices.push_back(slice_of(std::move(piece)));
  }
  return {slices.data(), slices.size()};
}

grpc::WriteOptions write_options(const PacketWriter& rest) {
  return rest.empty() ? grpc::WriteOptions() : grpc::WriteOptions().set_buffer_hint();
}

grpc::ByteBuffer nothing() {
  const grpc::Slice empty;
  return {&empty, 1};  // One without a slice would not be sent.
}

void take_packet(PacketReader& reader,
                 grpc::ByteBuffer& packet,
                 const std::atomic<std::uint64_t>& authorised,
                 const std::function<void(Received)>& sink) {
  const std::uint64_t bytes = packet.Length();
  grpc::ProtoBufferReader stream(&packet);
  reader.take(stream, bytes, authorised, sink);
}

}  // namespace outpace::live
