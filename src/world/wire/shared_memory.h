// Memory that two processes of one machine share: one writes (LentMemory), the other only reads
// (BorrowedMemory).
//
// It is a memfd, sealed so that its size stays what it is and nobody but its writer, who has mapped
// it already, can write into it or give its pages back. A reader checks the kind, the size, the
// seals and that the pages are there before it maps the memory: otherwise the writer could end the
// reader's process with a SIGBUS.
// What a reader has seen may be something else a moment later: it copies first and checks then.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "wire/descriptor.h"
#include "wire/payload.h"

namespace outpace::wire {

// Pages that are mapped.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* address, std::size_t bytes) : address_(address), bytes_(bytes) {}
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::span<float> numbers(std::uint64_t offset, std::uint64_t count) const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* const address_ = nullptr;
  const std::size_t bytes_ = 0;
};

// The bytes of a place for this many numbers: whole pages.
[[nodiscard]] std::uint64_t place_bytes(std::uint64_t numbers);

// Some places, each for one payload. A place is free again when the last copy of its lease is gone.
// Memory is only taken by places that have been used. Threads: any.
class LentMemory : public std::enable_shared_from_this<LentMemory> {
 public:
  // Throws an Error if the system has no such memory.
  [[nodiscard]] static std::shared_ptr<LentMemory> create(std::uint64_t numbers,
                                                          std::size_t places);

  struct Place {
    std::uint64_t offset;
    std::shared_ptr<const void> lease;
  };
  // A free place to write into; nothing if there is none, or it would be too small.
  [[nodiscard]] std::optional<Room> room(std::uint64_t numbers);
  // The place into which the payload was copied, now or before; nothing as above.
  [[nodiscard]] std::optional<Place> publish(const Payload& payload);
  // The place in which the payload was written; nothing if it lies elsewhere.
  [[nodiscard]] std::optional<Place> find(const Payload& payload) const;

  [[nodiscard]] int descriptor() const { return descriptor_.number(); }
  [[nodiscard]] std::uint64_t bytes() const { return mapping_.bytes(); }
  // The largest payload, in numbers.
  [[nodiscard]] std::uint64_t numbers_max() const { return numbers_max_; }

 private:
  struct Slot {
    std::weak_ptr<const void> lease;
    std::weak_ptr<const void> published;  // The keeper of the payload that was copied here.
    const float* from = nullptr;          // Where that payload lay.
    bool allocated = false;               // Its pages are there.
  };

  LentMemory(Descriptor descriptor, void* address, std::uint64_t numbers, std::size_t places);
  // A slot that may be written into: a new one only if all others are lent. Nothing if there is
  // none, or the system has no pages for it. REQUIRES: mutex_ is held.
  [[nodiscard]] std::optional<std::size_t> free_slot();
  [[nodiscard]] std::shared_ptr<const void> lend(Slot& slot);

  const Descriptor descriptor_;
  const std::uint64_t numbers_max_;
  const std::uint64_t stride_;  // Bytes from one place to the next.
  const Mapping mapping_;
  // State below is guarded by mutex_.
  std::mutex mutex_;
  std::vector<Slot> slots_;
};

class BorrowedMemory {
 public:
  // Whether all pages must be there, or only those of places in use will be.
  enum class Pages : std::uint8_t { kAll, kSome };
  struct Terms {
    std::uint64_t bytes_max;
    Pages pages;
  };

  // Maps `bytes` bytes of what the peer has lent. Throws an Error that says what is wrong.
  [[nodiscard]] static std::shared_ptr<const BorrowedMemory> map(const Descriptor& descriptor,
                                                                 std::uint64_t bytes,
                                                                 const Terms& terms);

  BorrowedMemory(void* address, std::size_t bytes) : mapping_(address, bytes) {}

  // Throws an Error if they do not lie in this memory, or not at a number's place.
  [[nodiscard]] std::span<const float> numbers(std::uint64_t offset, std::uint64_t count) const;

 private:
  const Mapping mapping_;
};

}  // namespace outpace::wire
