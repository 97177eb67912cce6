// What travels on the connections of a bundle (bundle.h): frames, and the order of their bytes.
//
// A frame is a head of 20 bytes and, if it is a chunk, as many bytes as the head says. The head is
// the kind (32 bits), the size of the chunk in bytes (32 bits), a place in the stream (64 bits) and
// the CRC32C of those 16 bytes, little-endian; the bytes of a chunk have checksums of their own
// (records.h). A chunk's place is that of its first byte; the place of a kTaken is the first byte
// that the other side has not taken. A kEnd is the last frame of its connection: a connection that
// ends without one was lost, and what went over it goes again over another.
//
// Nothing here knows of sockets, time or threads.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sys/uio.h>

namespace outpace::wire {

enum class FrameKind : std::uint32_t { kChunk = 1, kTaken = 2, kEnd = 3 };

struct FrameHead {
  FrameKind kind;
  std::uint32_t bytes = 0;
  std::uint64_t place = 0;
};

inline constexpr std::size_t kFrameHeadBytes = 20;
// Small, so that no connection holds much that another could carry sooner; large beside a head.
inline constexpr std::size_t kChunkMax = std::size_t{1} << 16U;
// What may be on its way and not taken: 2.6 Gbit/s at a round trip of 100 ms. Each side keeps at
// most so much of the other.
inline constexpr std::size_t kOnTheWayMax = std::size_t{1} << 25U;

[[nodiscard]] std::array<char, kFrameHeadBytes> encode_frame(const FrameHead& head);
// Throws an Error if it was changed, is of no kind, or claims more than its kind may.
[[nodiscard]] FrameHead decode_frame(std::span<const char, kFrameHeadBytes> bytes);

using Lane = std::uint64_t;  // One connection of a bundle; never used again for another.

struct Chunk {
  std::uint64_t place;
  std::shared_ptr<const std::string> bytes;
  Lane lane;  // That it was given to last.

  [[nodiscard]] std::uint64_t end() const { return place + bytes->size(); }
};

// What was sent and has not been taken: it may have to go again.
class SentChunks {
 public:
  const Chunk& add(std::string bytes, Lane lane);
  // Throws an Error if so much was never sent.
  void taken(std::uint64_t place);
  // The lane is lost: what went over it and may not have come goes over others, the oldest first.
  void lost(Lane lane);
  [[nodiscard]] bool owes() const { return !again_.empty(); }
  // The next that goes again. REQUIRES: owes().
  const Chunk& give_again(Lane lane);
  // Bytes that were sent and not taken.
  [[nodiscard]] std::size_t on_the_way() const { return static_cast<std::size_t>(end_ - taken_); }

 private:
  std::uint64_t taken_ = 0;                // The other side has the stream up to here,
  std::uint64_t end_ = 0;                  // and it was sent up to here.
  std::map<std::uint64_t, Chunk> chunks_;  // By place.
  std::deque<std::uint64_t> again_;        // Places in chunks_.
};

// What has come, in whatever order, and is read in that of the stream.
class ArrivedChunks {
 public:
  // A chunk that came before is dropped. Throws an Error if it lies further ahead than the other
  // side may send.
  void add(std::uint64_t place, std::string bytes);
  // Whether there is something to read.
  [[nodiscard]] bool readable() const { return !next_.empty(); }
  // Moves what comes next into the parts; returns the number of bytes.
  std::size_t read(std::span<const iovec> parts);
  // The first byte of the stream that has not been read.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  std::uint64_t taken_ = 0;
  std::uint64_t whole_ = 0;                     // Up to here nothing is missing.
  std::deque<std::string> next_;                // The stream from taken_ to whole_,
  std::size_t read_of_first_ = 0;               // but for these bytes of its first chunk.
  std::map<std::uint64_t, std::string> ahead_;  // By place, beyond whole_.
};

}  // namespace outpace::wire
