// Puts messages together again from the bodies of records.
//
// Two kinds of message are put together piece by piece. A gradient may come in slices
// (protocol::Slice), with other messages between them: they go to their places in one buffer, from
// the end of the gradient to its front, and only the push that completes them is handed on. A
// release may be handed on when its first numbers are there; the rest is written behind them.
//
// Numbers that are packed are unpacked when their last byte has come. Weights may be packed against
// those that came before over the same connection, which are kept for that.
//
// Not for two threads at a time; its owner must lock.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/square_sum.h"
#include "protocol/packing.h"
#include "wire/kept_numbers.h"
#include "wire/payload.h"
#include "wire/transport.h"

namespace outpace::wire {

class RecordReader {
 public:
  // `early`: a release is handed on before it is whole. `kept`: where memory comes from, and goes
  // to; null: from the C library.
  explicit RecordReader(bool early = false, std::shared_ptr<KeptNumbers> kept = nullptr)
      : early_(early), kept_(std::move(kept)) {}

  // Takes a message's frame. Returns the message if it has no payload; else it is pending. Memory
  // for a payload is allocated only if it is of at most `authorised` numbers, and a slice gets a
  // place only next to the one before. Throws an Error that says what is wrong; the connection
  // cannot be used after that.
  [[nodiscard]] std::optional<Received> take(std::string_view frame, std::uint64_t authorised);
  // Makes room for the next numbers of the pending payload, `bytes` bytes of a record. Throws an
  // Error if there is no payload or no room for them.
  [[nodiscard]] std::span<char> room(std::uint32_t bytes);
  // The numbers have been written into the room. Returns the message if it is to be handed on now.
  [[nodiscard]] std::optional<Received> filled();
  // The numbers of the pending payload, which lie elsewhere. Throws an Error if there is no such
  // payload, or it has begun to come.
  [[nodiscard]] std::uint64_t announced() const;
  // The message, with these as its payload and, if it is a push, its sum of squares. REQUIRES:
  // announced() returned.
  [[nodiscard]] Received complete(Numbers payload, std::optional<double> squares);
  // Whether numbers come after those that room() made room for.
  [[nodiscard]] bool more_numbers() const {
    return pending_ && (packing_ ? packed_.size() < packing_->bytes : at_ < end_);
  }
  // After filled(): how many numbers are there of a release that has been handed on before; nothing
  // if there is no such.
  [[nodiscard]] std::optional<std::uint64_t> take_arrived() {
    return std::exchange(arrived_, std::nullopt);
  }

 private:
  using Buffer = std::vector<float>;

  // The slices of a gradient that have come: its numbers from `begin` on.
  struct Sliced {
    Sequence sequence;
    std::uint64_t begin;
    std::uint64_t whole;
  };

  // Refuses a message that may not come while some of a gradient is there.
  void check_within_gradient(const protocol::Message& message, std::uint64_t numbers) const;
  // Adds up what filled() has got of a push.
  void add_squares();
  void begin_slice(const protocol::Slice& slice, std::uint64_t numbers, std::uint64_t authorised);
  // The next bytes of a packed payload, as room().
  [[nodiscard]] std::span<char> packed_room(std::uint32_t bytes);
  // Moves the numbers of packed_ to their place.
  void unpack();
  void unpack_weights();

  const bool early_;
  const std::shared_ptr<KeptNumbers> kept_;
  std::optional<Received> pending_;  // Its payload is not whole yet.
  bool handed_on_ = false;           // The pending one, before it was whole.
  std::optional<std::uint64_t> arrived_;
  // The numbers of the pending payload, or of a gradient's slices. Shared with the readers of a
  // release that was handed on.
  std::shared_ptr<Buffer> numbers_;
  SquareSum squares_;  // Over a push's numbers before at_, unless it has slices.
  // Where the pending payload's next numbers go, and where they end:
  std::uint64_t begun_ = 0;  // Where those of the last record went.
  std::uint64_t at_ = 0;
  std::uint64_t end_ = 0;
  std::optional<Sliced> sliced_;
  std::uint64_t bytes_ = 0;  // That the payload has taken on the wire, with its slices.
  // The pending payload's; nothing if its numbers come as they are.
  std::optional<protocol::Packing> packing_;
  std::vector<std::byte> packed_;      // What has come of it.
  std::shared_ptr<const Buffer> has_;  // The last weights that came packed.
};

}  // namespace outpace::wire
