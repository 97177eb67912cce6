// What one connection over a Unix socket shares of memory, in both directions.
//
// Each side lends the other one memory (shared_memory.h): it offers it when it first has a large
// payload, and until the peer has answered, payloads go over the socket. From then on a payload
// lies in a place of the memory, and the socket carries its offset. The reader returns the place
// with its next message. If either side cannot share, it says why, and both use the socket.
//
// Not for two threads at a time; its owner must lock.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/records.h"
#include "wire/shared_memory.h"

namespace outpace::wire {

// A smaller payload goes over the socket.
inline constexpr std::uint64_t kSharedBytesMin = std::uint64_t{32} << 10U;
// Versions of the weights that a server keeps for workers that read them.
inline constexpr std::size_t kServerPlaces = 64;
// A worker has one gradient on its way.
inline constexpr std::size_t kClientPlaces = 1;
// Places that one peer may hold: the release that it computes on, and a newer one.
inline constexpr std::size_t kUnreturnedMax = 2;
// Memories that a peer may lend, one after another.
inline constexpr int kOffersMax = 8;

// Where the connections of one transport get the memory that they lend. Threads: any.
class Lender {
 public:
  // `warned` may be null.
  Lender(std::size_t places, std::function<void(const std::string&)> warned)
      : places_(places), warned_(std::move(warned)) {}

  // The memory for payloads of this size, the same for all. Throws an Error if there is none.
  [[nodiscard]] std::shared_ptr<LentMemory> memory_for(std::uint64_t numbers);
  // Says once why payloads go over the socket.
  void warn(const std::string& why);

 private:
  const std::size_t places_;
  const std::function<void(const std::string&)> warned_;
  std::mutex mutex_;
  std::shared_ptr<LentMemory> memory_;  // Guarded by mutex_.
  bool told_ = false;                   // Guarded by mutex_.
};

struct SharingOptions {
  std::shared_ptr<Lender> lender;  // The transport's; null: nothing is shared.
  std::size_t peer_places = 0;     // The places that the peer may lend.
  bool in_place = false;           // Numbers are read where they lie; else they are copied first.
};

class Sharing {
 public:
  explicit Sharing(SharingOptions options) : options_(std::move(options)) {}

  // A record to be sent, in the order in which they are taken.
  struct Control {
    RecordKind kind;
    std::string body;
    std::shared_ptr<const LentMemory> memory;  // Its descriptor goes with the record.
  };
  [[nodiscard]] std::vector<Control> take_controls();
  // Why nothing is shared, for Lender::warn(), without the lock; empty if there is nothing new.
  [[nodiscard]] std::string take_warning() { return std::exchange(warning_, {}); }

  // ---- What this side lends ----

  // Where the payload lies for the peer to read; nothing if it must go over the socket.
  // `unreturned`: the places that the peer holds.
  [[nodiscard]] std::optional<LentMemory::Place> place(const Payload& payload,
                                                       std::size_t unreturned);
  // Room for a payload; nothing if there is none where the peer would read it.
  [[nodiscard]] std::optional<Room> room(std::uint64_t numbers);
  // Whether payloads lie there, or will as soon as there has been one.
  [[nodiscard]] bool may_share() const { return options_.lender && state_ != State::kOff; }
  // The peer's answer, empty if it has mapped what was offered. Throws an Error if it was not
  // asked.
  void answered(const std::string& why);

  // ---- What the peer lends ----

  // `authorised`: the largest payload of the peer, in numbers. Throws an Error if the peer offers
  // too often.
  void borrow(const Descriptor& descriptor, std::uint64_t bytes, std::uint64_t authorised);
  struct Read {
    Numbers numbers;
    std::optional<double> squares;  // Their SquareSum, if they were copied.
  };
  // Numbers in the memory that was borrowed. Throws an Error if they do not lie there. Only the
  // thread that borrows may call it, and it needs no lock.
  [[nodiscard]] Read read(std::uint64_t offset, std::uint64_t count) const;

 private:
  enum class State : std::uint8_t { kNothing, kOffered, kAccepted, kOff };

  // Offsets of places that have been read. They outlive the connection with those who read.
  struct Returns {
    std::mutex mutex;
    std::vector<std::uint64_t> offsets;

    void add(std::uint64_t offset);
  };

  void give_up(const std::string& why);

  const SharingOptions options_;
  State state_ = State::kNothing;  // The state of lent_.
  std::shared_ptr<LentMemory> lent_;
  std::vector<Control> controls_;
  std::string warning_;
  int offers_ = 0;  // The peer's.
  std::shared_ptr<const BorrowedMemory> borrowed_;
  const std::shared_ptr<Returns> returns_ = std::make_shared<Returns>();
};

}  // namespace outpace::wire
