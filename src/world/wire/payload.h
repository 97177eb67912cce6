// The numbers of messages: those to be sent (Payload, Room), and those that have come (Numbers).
// Both may lie in memory that two processes of one machine share.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "protocol/packing.h"
#include "wire/kept_numbers.h"

namespace outpace::wire {

// Numbers to be sent, as they are or packed: shared and immutable, because one version's weights go
// to many workers.
class Payload {
 public:
  Payload() = default;
  Payload(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): "none", as of a pointer.
  // NOLINTNEXTLINE(google-explicit-constructor): what callers have.
  Payload(std::shared_ptr<const std::vector<float>> numbers) {
    if (numbers) {
      numbers_ = *numbers;
      keeper_ = std::move(numbers);
    }
  }
  // The numbers stay where they are as long as a copy of `keeper` lives.
  Payload(std::span<const float> numbers, std::shared_ptr<const void> keeper)
      : numbers_(numbers), keeper_(std::move(keeper)) {}
  // `count` numbers, packed. REQUIRES: packing.bytes == packed->size().
  Payload(std::shared_ptr<const std::vector<std::byte>> packed,
          const protocol::Packing& packing,
          std::uint64_t count)
      : packed_(*packed), packing_(packing), count_(count), keeper_(std::move(packed)) {}

  // Empty if they are packed.
  [[nodiscard]] std::span<const float> numbers() const { return numbers_; }
  // How many there are, packed or not.
  [[nodiscard]] std::uint64_t count() const { return packing_ ? count_ : numbers_.size(); }
  // What is sent of them.
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return packing_ ? packed_ : std::as_bytes(numbers_);
  }
  [[nodiscard]] const std::optional<protocol::Packing>& packing() const { return packing_; }
  [[nodiscard]] const std::shared_ptr<const void>& keeper() const { return keeper_; }
  explicit operator bool() const { return keeper_ != nullptr; }

 private:
  std::span<const float> numbers_;
  std::span<const std::byte> packed_;
  std::optional<protocol::Packing> packing_;
  std::uint64_t count_ = 0;
  std::shared_ptr<const void> keeper_;
};

// Memory to write a payload into, where the server reads it if the two share memory.
struct Room {
  std::span<float> numbers;
  std::shared_ptr<const void> keeper;
  // While a copy lives, the memory stays memory of this process, though others may write there.
  std::shared_ptr<const void> memory = nullptr;

  // REQUIRES: nobody writes into the room from now on.
  [[nodiscard]] Payload payload() && { return {numbers, std::move(keeper)}; }
};

// Numbers that have come: memory of this process, or memory that it shares with the sender, who
// leaves it alone until the last copy of these numbers is gone.
class Numbers {
 public:
  Numbers() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a vector is the ordinary case.
  Numbers(std::vector<float> own)
      : own_(std::make_shared<std::vector<float>>(std::move(own))), span_(*own_) {}
  // Shared memory. `memory`: as Room has it.
  Numbers(std::span<const float> shared,
          std::shared_ptr<const void> keeper,
          std::shared_ptr<const void> memory)
      : span_(shared), keeper_(std::move(keeper)), memory_(std::move(memory)) {}
  // Numbers that may still be on their way, `count` in the end. REQUIRES: memory for all of them is
  // reserved.
  Numbers(std::shared_ptr<std::vector<float>> own, std::uint64_t count)
      : own_(std::move(own)), span_(own_->data(), count) {}

  [[nodiscard]] std::span<const float> span() const { return span_; }
  // NOLINTNEXTLINE(google-explicit-constructor): it is one.
  operator std::span<const float>() const { return span(); }
  [[nodiscard]] std::size_t size() const { return span_.size(); }
  [[nodiscard]] bool empty() const { return span_.empty(); }
  [[nodiscard]] bool shared() const { return keeper_ != nullptr; }
  // As Room::memory.
  [[nodiscard]] std::shared_ptr<const void> memory() const {
    return own_ ? KeptNumbers::memory_of(own_) : memory_;
  }

  // As a vector, without a copy if nobody else uses them; a copy goes to a block of `kept`, if that
  // is not null. REQUIRES: they are whole.
  [[nodiscard]] std::vector<float> take(KeptNumbers* kept = nullptr) && {
    Numbers taken = std::exchange(*this, {});
    if (taken.own_) {  // Mostly the transport has let go of them.
      return KeptNumbers::move_away(std::move(taken.own_));
    }
    std::vector<float> copy = kept == nullptr ? std::vector<float>() : kept->take(taken.size());
    copy.assign(taken.span_.begin(), taken.span_.end());
    return copy;
  }

  friend bool operator==(const Numbers& a, const std::vector<float>& b) {
    return std::equal(a.span().begin(), a.span().end(), b.begin(), b.end());
  }

 private:
  std::shared_ptr<std::vector<float>> own_;  // Null: they are shared memory, or there are none.
  std::span<const float> span_;
  std::shared_ptr<const void> keeper_;
  std::shared_ptr<const void> memory_;
};

}  // namespace outpace::wire
