#include "live/grpc_stream.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include "base/check.h"
#include "base/error.h"
#include "protocol/codec.h"

namespace outpace::live {
namespace {

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
void copy_rest(grpc::ProtoBufferReader& from, char* to, std::size_t bytes) {
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
      Setting{GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(protocol::kFrameBytesMax)},
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

void FrameWriter::add(const protocol::Message& message, Payload payload) {
  const std::uint64_t numbers = payload ? payload->size() : 0;
  queue_.push_back({.message = protocol::encode(message, numbers), .payload = std::move(payload)});
}

grpc::ByteBuffer FrameWriter::next() {
  CHECK(!queue_.empty());
  Outgoing& oldest = queue_.front();
  const std::uint64_t numbers = oldest.payload ? oldest.payload->size() : 0;
  grpc::ByteBuffer frame;
  if (!oldest.message.empty()) {
    const grpc::Slice bytes(std::exchange(oldest.message, {}));
    frame = grpc::ByteBuffer(&bytes, 1);
  } else {
    const protocol::ChunkHeader chunk{
        .offset = oldest.sent, .numbers = std::min(numbers - oldest.sent, protocol::kChunkNumbers)};
    const std::array<grpc::Slice, 2> slices = {
        grpc::Slice(protocol::encode(chunk)),
        slice_of(oldest.payload, chunk.offset, chunk.numbers)};
    frame = grpc::ByteBuffer(slices.data(), slices.size());
    oldest.sent += chunk.numbers;
  }
  if (oldest.sent == numbers) {
    queue_.pop_front();
  }
  return frame;
}

grpc::WriteOptions write_options(const FrameWriter& rest) {
  return rest.empty() ? grpc::WriteOptions() : grpc::WriteOptions().set_buffer_hint();
}

std::optional<Received> FrameReader::take(grpc::ByteBuffer& frame, std::uint64_t authorised) {
  grpc::ProtoBufferReader stream(&frame);
  protocol::Frame decoded = protocol::decode(stream, frame.Length());
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
  copy_rest(stream,
            reinterpret_cast<char*>(payload.data() + chunk.offset),
            chunk.numbers * sizeof(float));
  if (payload.size() < announced_) {
    return std::nullopt;
  }
  return std::exchange(pending_, std::nullopt);
}

}  // namespace outpace::live
