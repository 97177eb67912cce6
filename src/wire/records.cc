// Tested by src/wire/rude_client_test.cc.

#include "wire/records.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "protocol/codec.h"

namespace outpace::wire {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers travel as they lie in memory, and the wire format is little-endian");

constexpr std::size_t kChecked = 12;  // Bytes of a head before its own checksum.

Error broken(const std::string& what) {
  return {ExitCode::kFailure, what};
}

std::uint32_t bytes_max(RecordKind kind) {
  switch (kind) {
    case RecordKind::kMessage:
      return protocol::kFrameBytesMax;
    case RecordKind::kNumbers:
      return kNumbersMax * sizeof(float);
    case RecordKind::kFarewell:
      return protocol::kTextMax;
  }
  throw broken("a record of an unknown kind");
}

}  // namespace

std::string encode_head(RecordKind kind, std::string_view body, Checksums checksums) {
  std::array<std::uint32_t, 4> numbers = {
      static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(body.size()), 0, 0};
  const std::string_view head(reinterpret_cast<const char*>(numbers.data()), kHeadBytes);
  if (checksums == Checksums::kCrc32c) {
    numbers[2] = crc32c(body);
    numbers[3] = crc32c(head.substr(0, kChecked));
  }
  return std::string(head);
}

RecordHead decode_head(std::span<const char, kHeadBytes> bytes, Checksums checksums) {
  std::array<std::uint32_t, 4> numbers{};
  std::memcpy(numbers.data(), bytes.data(), kHeadBytes);
  if (checksums == Checksums::kCrc32c && numbers[3] != crc32c({bytes.data(), kChecked})) {
    throw broken("the head of a record was changed on the way: its checksum is another");
  }
  const RecordHead head{
      .kind = static_cast<RecordKind>(numbers[0]), .bytes = numbers[1], .checksum = numbers[2]};
  if (head.bytes > bytes_max(head.kind)) {
    throw broken("a record of " + std::to_string(head.bytes) + " bytes, and at most " +
                 std::to_string(bytes_max(head.kind)) + " are allowed");
  }
  return head;
}

void RecordWriter::add(const protocol::Message& message, Payload payload) {
  const std::uint64_t numbers = payload ? payload->size() : 0;
  const bool release = std::holds_alternative<protocol::Release>(message);
  std::string frame = protocol::encode(message, numbers);
  if (release) {
    const auto older = std::find_if(queue_.begin(), queue_.end(), [](const Outgoing& waiting) {
      return waiting.release && !waiting.frame.empty();
    });
    if (older != queue_.end()) {
      queue_.erase(older);
    }
  }
  queue_.push_back({.frame = std::move(frame), .payload = std::move(payload), .release = release});
}

std::size_t RecordWriter::payloads() const {
  return static_cast<std::size_t>(std::count_if(
      queue_.begin(), queue_.end(), [](const Outgoing& waiting) { return !!waiting.payload; }));
}

std::size_t RecordWriter::next(std::deque<Piece>& pieces) {
  CHECK(!queue_.empty());
  Outgoing& oldest = queue_.front();
  const std::uint64_t numbers = oldest.payload ? oldest.payload->size() : 0;
  std::size_t bytes = kHeadBytes;
  if (!oldest.frame.empty()) {
    const std::string frame = std::exchange(oldest.frame, {});
    bytes += frame.size();
    pieces.emplace_back(encode_head(RecordKind::kMessage, frame, checksums_) + frame);
  } else {
    const std::uint64_t step = std::min<std::uint64_t>(numbers - oldest.sent, kNumbersMax);
    Piece body(oldest.payload, oldest.sent, step);
    bytes += body.view().size();
    pieces.emplace_back(encode_head(RecordKind::kNumbers, body.view(), checksums_));
    pieces.push_back(std::move(body));
    oldest.sent += step;
  }
  if (oldest.sent == numbers) {
    queue_.pop_front();
  }
  return bytes;
}

std::optional<Received> RecordReader::take(std::string_view frame, std::uint64_t authorised) {
  protocol::Frame begun = protocol::decode(frame);
  const std::string name = protocol::name(begun.message);
  if (pending_) {
    throw broken(name + " came within the payload of " + protocol::name(pending_->message));
  }
  if (begun.payload_numbers > authorised) {
    throw broken(name + " has a payload of " + std::to_string(begun.payload_numbers) +
                 " numbers, and at most " + std::to_string(authorised) + " are allowed");
  }
  Received received{.message = std::move(begun.message), .payload = {}, .turn = {}};
  if (begun.payload_numbers == 0) {
    return received;
  }
  announced_ = begun.payload_numbers;
  received.payload.reserve(announced_);
  pending_ = std::move(received);
  return std::nullopt;
}

std::span<char> RecordReader::room(std::uint32_t bytes) {
  if (!pending_) {
    throw broken("numbers belong to no payload");
  }
  if (bytes == 0 || bytes % sizeof(float) != 0) {
    throw broken("numbers must be whole and at least one");
  }
  std::vector<float>& payload = pending_->payload;
  const std::size_t begin = payload.size();
  if (bytes / sizeof(float) > announced_ - begin) {
    throw broken("numbers go beyond the end of their payload");
  }
  payload.resize(begin + bytes / sizeof(float));
  return {reinterpret_cast<char*>(payload.data() + begin), bytes};
}

std::optional<Received> RecordReader::filled() {
  if (more_numbers()) {
    return std::nullopt;
  }
  return std::exchange(pending_, std::nullopt);
}

}  // namespace outpace::wire
