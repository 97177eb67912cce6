#include "compress/delta.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "compress/bits.h"
#include "compress/format.h"
#include "compress/half.h"

namespace outpace::compress {
namespace {

constexpr std::size_t kCountBytes = 2;
constexpr std::size_t kValueBytes = 2;
constexpr unsigned kDeltaPlaceBits = 12;

constexpr std::size_t bitmap_bytes(std::size_t length) {
  return (length + 7) / 8;
}
constexpr std::size_t places_bytes(std::size_t count) {
  return (kDeltaPlaceBits * count + 7) / 8;
}

// A chunk's changes, ascending.
struct Changes {
  std::array<std::uint16_t, kChunk> places;
  std::array<std::uint16_t, kChunk> values;
  std::size_t count = 0;
};

void find_changes(std::span<const float> reference,
                  std::span<const float> next,
                  Changes& changes,
                  std::span<float> now) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    const std::uint16_t value = to_bf16(next[i]);
    now[i] = from_bf16(value);
    changes.places[count] = static_cast<std::uint16_t>(i);
    changes.values[count] = value;
    count += std::bit_cast<std::uint32_t>(now[i]) != std::bit_cast<std::uint32_t>(reference[i]);
  }
  changes.count = count;
}

// REQUIRES: room for all of it. Gives back where it ends.
std::byte* write_changes(const Changes& changes, std::size_t length, std::byte* to) {
  const auto count = static_cast<std::uint16_t>(changes.count);
  std::memcpy(to, &count, kCountBytes);
  to += kCountBytes;
  if (places_bytes(count) < bitmap_bytes(length)) {
    BitWriter writer(to);
    for (std::size_t i = 0; i < count; ++i) {
      writer.put(changes.places[i], kDeltaPlaceBits);
    }
    to = writer.pad();
  } else {
    std::fill_n(to, bitmap_bytes(length), std::byte{0});
    for (std::size_t i = 0; i < count; ++i) {
      to[changes.places[i] / 8] |= static_cast<std::byte>(1U << (changes.places[i] % 8U));
    }
    to += bitmap_bytes(length);
  }
  std::memcpy(to, changes.values.data(), kValueBytes * count);
  return to + kValueBytes * count;
}

// Reads chunk after chunk, and says which one is wrong.
class DeltaReader {
 public:
  explicit DeltaReader(std::span<const std::byte> packed) : left_(packed) {}

  void read_chunk(Changes& changes, std::size_t length) {
    std::uint16_t count = 0;
    std::memcpy(&count, take(kCountBytes, "its count").data(), kCountBytes);
    if (count > length) {
      refuse(std::to_string(count) + " of its " + std::to_string(length) + " numbers changed");
    }
    changes.count = count;
    if (places_bytes(count) < bitmap_bytes(length)) {
      read_places(changes, length);
    } else {
      read_bitmap(changes, length);
    }
    const auto values = take(kValueBytes * count, "its numbers");
    std::memcpy(changes.values.data(), values.data(), values.size());
    ++chunk_;
  }
  void finish() const {
    if (!left_.empty()) {
      throw Error(
          ExitCode::kFailure,
          "packed weights: " + std::to_string(left_.size()) + " bytes after the last chunk");
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ExitCode::kFailure,
                "packed weights: chunk " + std::to_string(chunk_) + ": " + what);
  }
  std::span<const std::byte> take(std::size_t bytes, const char* what) {
    if (left_.size() < bytes) {
      refuse("the bytes end within " + std::string(what));
    }
    const auto taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return taken;
  }
  void read_places(Changes& changes, std::size_t length) {
    BitReader places(take(places_bytes(changes.count), "its places").data());
    std::size_t least = 0;
    for (std::size_t i = 0; i < changes.count; ++i) {
      const std::uint32_t place = places.get(kDeltaPlaceBits);
      if (place < least || place >= length) {
        refuse("number " + std::to_string(i) + ": place " + std::to_string(place) +
               (place < least ? " is not above the one before it"
                              : " is beyond its " + std::to_string(length) + " numbers"));
      }
      least = place + 1;
      changes.places[i] = static_cast<std::uint16_t>(place);
    }
  }
  void read_bitmap(Changes& changes, std::size_t length) {
    const auto bitmap = take(bitmap_bytes(length), "its places");
    std::size_t found = 0;
    for (std::size_t i = 0; i < bitmap.size() * 8; ++i) {
      if ((std::to_integer<unsigned>(bitmap[i / 8]) >> (i % 8) & 1U) == 0) {
        continue;
      }
      if (i >= length || found == changes.count) {
        refuse("its bits are not " + std::to_string(changes.count) + " of " +
               std::to_string(length));
      }
      changes.places[found++] = static_cast<std::uint16_t>(i);
    }
    if (found != changes.count) {
      refuse("its bits are not " + std::to_string(changes.count) + " of " + std::to_string(length));
    }
  }

  std::span<const std::byte> left_;
  std::size_t chunk_ = 0;
};

}  // namespace

std::vector<std::byte> pack_delta(std::span<const float> reference,
                                  std::span<const float> next,
                                  std::span<float> now) {
  std::vector<std::byte> packed;
  Changes changes;
  std::array<std::byte, kCountBytes + kChunk / 8 + kValueBytes * kChunk> chunk;
  for (std::size_t begin = 0; begin < next.size(); begin += kChunk) {
    const std::size_t length = std::min(kChunk, next.size() - begin);
    find_changes(reference.subspan(begin, length),
                 next.subspan(begin, length),
                 changes,
                 now.subspan(begin, length));
    packed.insert(packed.end(), chunk.data(), write_changes(changes, length, chunk.data()));
  }
  return packed;
}

void unpack_delta(std::span<const std::byte> packed,
                  std::span<const float> reference,
                  std::span<float> now) {
  DeltaReader reader(packed);
  Changes changes;
  std::copy(reference.begin(), reference.end(), now.begin());
  for (std::size_t begin = 0; begin < now.size(); begin += kChunk) {
    const auto chunk = now.subspan(begin, std::min(kChunk, now.size() - begin));
    reader.read_chunk(changes, chunk.size());
    for (std::size_t i = 0; i < changes.count; ++i) {
      chunk[changes.places[i]] = from_bf16(changes.values[i]);
    }
  }
  reader.finish();
}

std::size_t packed_delta_most(std::size_t numbers) {
  const std::size_t chunks = (numbers + kChunk - 1) / kChunk;
  return kCountBytes * chunks + bitmap_bytes(numbers) + kValueBytes * numbers;
}

}  // namespace outpace::compress
