// Tested by src/world/wire/rude_client_test.cc.

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
    case RecordKind::kSharing:
      return protocol::kTextMax;
    case RecordKind::kMemory:
    case RecordKind::kPlace:
    case RecordKind::kReturned:
      return sizeof(std::uint64_t);
  }
  throw broken("a record of an unknown kind");
}

constexpr std::uint64_t kRecordBytesMax = kNumbersMax * sizeof(float);

// A worker begins with the first weights while the rest is on its way: it hears of them record by
// record, and a record of a small network's must not be a large part of it.
std::uint64_t bytes_of_record(bool release, const Payload& payload) {
  constexpr std::uint64_t kParts = 16;
  constexpr std::uint64_t kLeast = 4096;
  return release && !payload.packing()
             ? sizeof(float) *
                   std::clamp<std::uint64_t>(payload.count() / kParts, kLeast, kNumbersMax)
             : kRecordBytesMax;
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

std::string encode_number(std::uint64_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

std::uint64_t decode_number(std::string_view body) {
  std::uint64_t number = 0;
  if (body.size() != sizeof(number)) {
    throw broken("a record of " + std::to_string(body.size()) + " bytes, where a number has 8");
  }
  std::memcpy(&number, body.data(), sizeof(number));
  return number;
}

void RecordWriter::add(const protocol::Message& message,
                       Payload payload,
                       std::optional<LentMemory::Place> place) {
  const auto* release = std::get_if<protocol::Release>(&message);
  const bool later = release != nullptr && packs(message, payload);
  std::string frame = later ? "" : protocol::encode(message, payload.count(), payload.packing());
  if (release != nullptr) {
    const auto older = std::find_if(queue_.begin(), queue_.end(), [](const Outgoing& waiting) {
      return waiting.release && !waiting.begun;
    });
    if (older != queue_.end()) {
      queue_.erase(older);
    }
  }
  if (const auto* abandoned = std::get_if<protocol::Abandoned>(&message)) {
    std::erase_if(queue_, [&](const Outgoing& waiting) {
      return waiting.slice_of == abandoned->id.sequence && !waiting.begun;
    });
  }
  const auto* slice = std::get_if<protocol::Slice>(&message);
  queue_.push_back({.frame = std::move(frame),
                    .payload = std::move(payload),
                    .place = std::move(place),
                    .release = release != nullptr,
                    .slice_of = slice == nullptr ? std::nullopt : std::optional(slice->sequence),
                    .to_pack = later ? std::optional(*release) : std::nullopt});
}

void RecordWriter::clear() {
  queue_.clear();
  unreturned_.clear();
}

std::size_t RecordWriter::unreturned() const {
  const auto waiting = std::count_if(
      queue_.begin(), queue_.end(), [](const Outgoing& message) { return !!message.place; });
  return unreturned_.size() + static_cast<std::size_t>(waiting);
}

void RecordWriter::returned(std::uint64_t offset) {
  const auto place = std::find_if(unreturned_.begin(), unreturned_.end(), [&](const auto& known) {
    return known.offset == offset;
  });
  if (place == unreturned_.end()) {
    throw broken("it returns memory that it was not lent");
  }
  unreturned_.erase(place);
}

std::size_t RecordWriter::payloads() const {
  return static_cast<std::size_t>(std::count_if(
      queue_.begin(), queue_.end(), [](const Outgoing& waiting) { return !!waiting.payload; }));
}

std::size_t RecordWriter::next(std::deque<Piece>& pieces) {
  CHECK(!queue_.empty());
  Outgoing& oldest = queue_.front();
  std::size_t bytes = 0;
  if (!oldest.begun) {
    bytes = begin(oldest, pieces);
  } else {
    const std::uint64_t step =
        std::min<std::uint64_t>(oldest.payload.bytes().size() - oldest.sent,
                                bytes_of_record(oldest.release, oldest.payload));
    Piece body(oldest.payload, oldest.sent, step);
    bytes = kHeadBytes + body.view().size();
    pieces.emplace_back(encode_head(RecordKind::kNumbers, body.view(), checksums_));
    pieces.push_back(std::move(body));
    oldest.sent += step;
  }
  if (oldest.sent == oldest.payload.bytes().size()) {
    queue_.pop_front();
  }
  return bytes;
}

std::size_t RecordWriter::begin(Outgoing& oldest, std::deque<Piece>& pieces) {
  if (oldest.to_pack) {
    pack(oldest);
  }
  if (oldest.release && traffic_) {
    traffic_->weights(oldest.payload.count(), oldest.payload.bytes().size());
  }
  const std::string frame = std::exchange(oldest.frame, {});
  oldest.begun = true;
  std::size_t bytes = kHeadBytes + frame.size();
  pieces.emplace_back(encode_head(RecordKind::kMessage, frame, checksums_) + frame);
  if (oldest.place) {
    const std::string place = encode_number(oldest.place->offset);
    bytes += kHeadBytes + place.size();
    pieces.emplace_back(encode_head(RecordKind::kPlace, place, checksums_) + place);
    unreturned_.push_back(*std::exchange(oldest.place, std::nullopt));
    oldest.sent = oldest.payload.bytes().size();
  }
  return bytes;
}

void RecordWriter::pack(Outgoing& release) {
  WeightsPacker::Packed packed = packer_->pack(has_, release.payload);
  has_ = std::move(packed.now);
  release.frame = protocol::encode(*std::exchange(release.to_pack, std::nullopt),
                                   packed.payload.count(),
                                   packed.payload.packing());
  release.payload = std::move(packed.payload);
}

}  // namespace outpace::wire
