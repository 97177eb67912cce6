// Tested by src/live/transport_test.cc.

#include "live/packets.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "base/check.h"
#include "base/error.h"
#include "protocol/codec.h"

namespace outpace::live {
namespace {

// A packet takes no further frame once it holds as much: one chunk, or many messages.
constexpr std::size_t kEnoughBytes = protocol::kChunkBytes / 2;

static_assert(std::endian::native == std::endian::little,
              "numbers travel as they lie in memory, and the wire format is little-endian");

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

void PacketWriter::add(const protocol::Message& message, Payload payload) {
  const std::uint64_t numbers = payload ? payload->size() : 0;
  queue_.push_back({.message = protocol::encode(message, numbers), .payload = std::move(payload)});
}

std::vector<Piece> PacketWriter::next() {
  CHECK(!queue_.empty());
  std::vector<Piece> packet;
  std::size_t bytes = 0;
  do {
    bytes += add_frame(packet);
  } while (!queue_.empty() && bytes < kEnoughBytes);
  return packet;
}

std::size_t PacketWriter::add_frame(std::vector<Piece>& packet) {
  Outgoing& oldest = queue_.front();
  const std::uint64_t numbers = oldest.payload ? oldest.payload->size() : 0;
  if (packet.empty() || packet.back().payload()) {
    packet.emplace_back(std::string());
  }
  std::size_t bytes = 0;
  if (!oldest.message.empty()) {
    bytes = oldest.message.size();
    packet.back().append(protocol::encode_frame_head(bytes) + std::exchange(oldest.message, {}));
  } else {
    const protocol::ChunkHeader chunk{
        .offset = oldest.sent, .numbers = std::min(numbers - oldest.sent, protocol::kChunkNumbers)};
    const std::string header = protocol::encode(chunk);
    bytes = header.size() + chunk.numbers * sizeof(float);
    packet.back().append(protocol::encode_frame_head(bytes) + header);
    packet.emplace_back(oldest.payload, chunk.offset, chunk.numbers);
    oldest.sent += chunk.numbers;
  }
  if (oldest.sent == numbers) {
    queue_.pop_front();
  }
  return bytes;
}

void PacketReader::take(google::protobuf::io::ZeroCopyInputStream& packet,
                        std::uint64_t bytes,
                        const std::atomic<std::uint64_t>& authorised,
                        const std::function<void(Received)>& sink) {
  const auto before = static_cast<std::uint64_t>(packet.ByteCount());
  const auto left = [&] {
    return bytes - (static_cast<std::uint64_t>(packet.ByteCount()) - before);
  };
  do {
    const std::uint64_t size = protocol::decode_frame_head(packet, left());
    // Ends where the frame does, and gives back what it has not read.
    google::protobuf::io::LimitingInputStream frame(&packet, static_cast<std::int64_t>(size));
    if (std::optional<Received> received = take_frame(frame, size, authorised)) {
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
