#include "live/grpc_stream.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "base/check.h"
#include "base/error.h"
#include "protocol/codec.h"

namespace outpace::live {
namespace {

// A packet takes no further frame once it holds as much: one chunk, or many messages.
constexpr std::size_t kEnoughBytes = protocol::kChunkBytes / 2;

static_assert(std::endian::native == std::endian::little,
              "numbers travel as they lie in memory, and the wire format is little-endian");

// A view of the payload that keeps it alive for as long as gRPC needs the bytes.
grpc::Slice slice_of(const Payload& payload, std::uint64_t offset, std::uint64_t numbers) {
  auto owner = std::make_unique<Payload>(payload);
  // gRPC has no slice of constant bytes, but does not write to this one.
  void* begin = const_cast<float*>(payload->data() + offset);
  const auto release = [](void* taken) {
    const std::unique_ptr<Payload> returned(static_cast<Payload*>(taken));
  };
  return {begin, numbers * sizeof(float), release, owner.release()};
}

Error broken(const std::string& what) {
  return {ExitCode::kFailure, what};
}

// Moves exactly the rest of the stream to `to`. REQUIRES: it is `bytes` long.
void copy_rest(google::protobuf::io::ZeroCopyInputStream& from, char* to, std::size_t bytes) {
  const void* data = nullptr;
  int size = 0;
  while (bytes > 0 && from.Next(&data, &size)) {
    const std::size_t step = std::min(bytes, static_cast<std::size_t>(size));
    std::memcpy(to, data, step);
    to += step;
    bytes -= step;
  }
  CHECK(bytes == 0);
}

}  // namespace

std::string authorization(const std::string& token) {
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (token.empty() || !std::all_of(token.begin(), token.end(), printable)) {
    throw usage_error("the job's token must be printable ASCII without blanks, and not empty");
  }
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

void PacketWriter::add(const protocol::Message& message, Payload payload) {
  const std::uint64_t numbers = payload ? payload->size() : 0;
  queue_.push_back({.message = protocol::encode(message, numbers), .payload = std::move(payload)});
}

grpc::ByteBuffer PacketWriter::next() {
  CHECK(!queue_.empty());
  std::vector<grpc::Slice> packet;
  std::size_t bytes = 0;
  do {
    bytes += add_frame(packet);
  } while (!queue_.empty() && bytes < kEnoughBytes);
  return {packet.data(), packet.size()};
}

std::size_t PacketWriter::add_frame(std::vector<grpc::Slice>& packet) {
  Outgoing& oldest = queue_.front();
  const std::uint64_t numbers = oldest.payload ? oldest.payload->size() : 0;
  std::size_t bytes = 0;
  if (!oldest.message.empty()) {
    bytes = oldest.message.size();
    packet.emplace_back(protocol::encode_frame_head(bytes));
    packet.emplace_back(std::exchange(oldest.message, {}));
  } else {
    const protocol::ChunkHeader chunk{
        .offset = oldest.sent, .numbers = std::min(numbers - oldest.sent, protocol::kChunkNumbers)};
    const std::string header = protocol::encode(chunk);
    bytes = header.size() + chunk.numbers * sizeof(float);
    packet.emplace_back(protocol::encode_frame_head(bytes) + header);
    packet.push_back(slice_of(oldest.payload, chunk.offset, chunk.numbers));
    oldest.sent += chunk.numbers;
  }
  if (oldest.sent == numbers) {
    queue_.pop_front();
  }
  return bytes;
}

grpc::WriteOptions write_options(const PacketWriter& rest) {
  return rest.empty() ? grpc::WriteOptions() : grpc::WriteOptions().set_buffer_hint();
}

void PacketReader::take(grpc::ByteBuffer& packet,
                        const std::atomic<std::uint64_t>& authorised,
                        const std::function<void(Received)>& sink) {
  const std::uint64_t length = packet.Length();
  grpc::ProtoBufferReader stream(&packet);
  const auto left = [&] { return length - static_cast<std::uint64_t>(stream.ByteCount()); };
  do {
    const std::uint64_t bytes = protocol::decode_frame_head(stream, left());
    // Ends where the frame does, and gives back what it has not read.
    google::protobuf::io::LimitingInputStream frame(&stream, static_cast<std::int64_t>(bytes));
    if (std::optional<Received> received = take_frame(frame, bytes, authorised)) {
      sink(std::move(*received));
    }
  } while (left() > 0);
}

std::optional<Received> PacketReader::take_frame(google::protobuf::io::ZeroCopyInputStream& frame,
                                                 std::uint64_t bytes,
                                                 std::uint64_t authorised) {
  protocol::Frame decoded = protocol::decode(frame, bytes);
  if (auto* begun = std::get_if<protocol::MessageFrame>(&decoded)) {
    if (pending_) {
      throw broken(std::string(protocol::name(begun->message)) + " came within the payload of " +
                   protocol::name(pending_->message));
    }
    if (begun->payload_numbers > authorised) {
      throw broken(std::string(protocol::name(begun->message)) + " has a payload of " +
                   std::to_string(begun->payload_numbers) + " numbers, and at most " +
                   std::to_string(authorised) + " are allowed");
    }
    Received received{.message = std::move(begun->message), .payload = {}};
    if (begun->payload_numbers == 0) {
      return received;
    }
    announced_ = begun->payload_numbers;
    received.payload.reserve(announced_);
    pending_ = std::move(received);
    return std::nullopt;
  }

  const auto& chunk = std::get<protocol::ChunkHeader>(decoded);
  if (!pending_) {
    throw broken("chunk belongs to no payload");
  }
  std::vector<float>& payload = pending_->payload;
  if (chunk.offset != payload.size()) {
    throw broken("chunk.offset is " + std::to_string(chunk.offset) + " where " +
                 std::to_string(payload.size()) + " comes next");
  }
  if (chunk.numbers > announced_ - payload.size()) {
    throw broken("chunk goes beyond the end of its payload");
  }
  payload.resize(payload.size() + chunk.numbers);
  copy_rest(
      frame, reinterpret_cast<char*>(payload.data() + chunk.offset), chunk.numbers * sizeof(float));
  if (payload.size() < announced_) {
    return std::nullopt;
  }
  return std::exchange(pending_, std::nullopt);
}

}  // namespace outpace::live
