// The bytes of a connection once both sides know each other: records.
//
// A record is a head of 16 bytes and a body. The head has four numbers of 32 bits, little-endian:
// the kind, the size of the body in bytes, the CRC32C of the body, and the CRC32C of the 12 bytes
// before. A body is a message (protocol/codec.h), or the next numbers of the payload that the
// message before it announced (float32, little-endian, or packed as the message says), or the words
// of a farewell, after which nothing comes. TLS finds every changed byte itself, and a Unix
// socket's bytes never leave the machine's memory: there both checksums are 0, unread. The other
// kinds are sharing.h's.
//
// Neither class may be used from two threads at a time; its owner must lock.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "wire/payload.h"
#include "wire/shared_memory.h"
#include "wire/traffic_count.h"
#include "wire/transport.h"
#include "wire/weights_packer.h"

namespace outpace::wire {

enum class RecordKind : std::uint32_t {
  kMessage = 1,
  kNumbers = 2,
  kFarewell = 3,
  kMemory = 4,    // Lends memory: its size in bytes. A descriptor comes with the record.
  kPlace = 5,     // The payload that the message before announced lies at this offset, in bytes.
  kReturned = 6,  // What lay at this offset has been read.
  kSharing = 7,   // Empty: the memory is mapped; else why nothing is to be shared, both ways.
};

enum class Checksums : std::uint8_t { kNone, kCrc32c };

inline constexpr std::size_t kHeadBytes = 16;
// Numbers of one record: small enough to be in a cache still when they are sent or checked.
inline constexpr std::size_t kNumbersMax = std::size_t{1} << 16U;

struct RecordHead {
  RecordKind kind;
  std::uint32_t bytes;
  std::uint32_t checksum;  // The body's.
};

// A head as it is sent, for this body.
[[nodiscard]] std::string encode_head(RecordKind kind, std::string_view body, Checksums checksums);
// Throws an Error if the head is damaged, of an unknown kind, or claims more than its kind may.
[[nodiscard]] RecordHead decode_head(std::span<const char, kHeadBytes> bytes, Checksums checksums);

// A number of 64 bits as a body.
[[nodiscard]] std::string encode_number(std::uint64_t number);
// Throws an Error if the body is none.
[[nodiscard]] std::uint64_t decode_number(std::string_view body);

// Bytes that are sent without a copy: its own, or those of a payload, which it keeps alive.
class Piece {
 public:
  explicit Piece(std::string bytes) : bytes_(std::move(bytes)) {}
  // A record of sharing, with whose first byte the memory's descriptor goes, if there is one.
  Piece(std::string bytes, std::shared_ptr<const LentMemory> memory)
      : bytes_(std::move(bytes)), memory_(std::move(memory)), control_(true) {}
  // REQUIRES: the payload has these bytes.
  Piece(Payload payload, std::uint64_t offset, std::uint64_t size)
      : payload_(std::move(payload)), offset_(offset), size_(size) {}

  [[nodiscard]] std::string_view view() const {
    return payload_ ? std::string_view(
                          reinterpret_cast<const char*>(payload_.bytes().data() + offset_), size_)
                    : std::string_view(bytes_);
  }
  // Null if no descriptor goes with it.
  [[nodiscard]] const LentMemory* memory() const { return memory_.get(); }
  [[nodiscard]] bool control() const { return control_; }

 private:
  std::string bytes_;
  std::shared_ptr<const LentMemory> memory_;
  bool control_ = false;
  Payload payload_;
  std::uint64_t offset_ = 0;
  std::uint64_t size_ = 0;
};

// A queue of messages, which next() turns into records. Payloads are referred to, not copied.
class RecordWriter {
 public:
  // `packer`: packs the weights of releases, when their turn comes; null: they go as they are.
  explicit RecordWriter(Checksums checksums,
                        std::shared_ptr<WeightsPacker> packer = nullptr,
                        std::shared_ptr<TrafficCount> traffic = nullptr)
      : checksums_(checksums), packer_(std::move(packer)), traffic_(std::move(traffic)) {}

  // Throws a usage error if the message does not fit in a frame. A release that waits gives way to
  // a newer one: a worker that reads slowly gets the newest weights, not all that it missed.
  // A payload that has a place in shared memory is not sent. Slices that wait are dropped by the
  // abandoned of their gradient, which discards those that went.
  void add(const protocol::Message& message,
           Payload payload,
           std::optional<LentMemory::Place> place = std::nullopt);
  void clear();

  [[nodiscard]] bool empty() const { return queue_.empty(); }
  // Messages that wait or are on their way, and those among them with a payload.
  [[nodiscard]] std::size_t messages() const { return queue_.size(); }
  [[nodiscard]] std::size_t payloads() const;
  // Places in shared memory that the peer knows or will know, and has not returned.
  [[nodiscard]] std::size_t unreturned() const;
  // The peer has read what lay there. Throws an Error if it was not told of it.
  void returned(std::uint64_t offset);
  // Puts the pieces of the next record behind `pieces`; returns its size. REQUIRES: !empty().
  std::size_t next(std::deque<Piece>& pieces);
  // Whether this message's payload goes packed, and so over the socket.
  [[nodiscard]] bool packs(const protocol::Message& message, const Payload& payload) const {
    return payload.packing().has_value() ||
           (packer_ && payload && std::holds_alternative<protocol::Release>(message));
  }

 private:
  struct Outgoing {
    std::string frame;  // Empty if it is to be packed.
    Payload payload;
    std::optional<LentMemory::Place> place;
    bool release = false;
    std::optional<Sequence> slice_of = std::nullopt;
    std::optional<protocol::Release> to_pack = std::nullopt;  // Its payload is, when it begins.
    bool begun = false;                                       // Its frame has gone out.
    std::uint64_t sent = 0;                                   // Bytes of the payload.
  };

  // Packs the release's weights for what the peer has by now.
  void pack(Outgoing& release);
  // Puts the record of the message's frame behind `pieces`; returns its size.
  std::size_t begin(Outgoing& oldest, std::deque<Piece>& pieces);

  const Checksums checksums_;
  const std::shared_ptr<WeightsPacker> packer_;
  const std::shared_ptr<TrafficCount> traffic_;
  WeightsPacker::Held has_;  // The weights that the peer has after what has gone out.
  std::deque<Outgoing> queue_;
  std::deque<LentMemory::Place> unreturned_;
};

}  // namespace outpace::wire
