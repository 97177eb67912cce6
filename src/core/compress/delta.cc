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
#include "compress/vectors.h"

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

// A chunk in bf16, and for each number 1 if it is another than the reference's. Behind the end of a
// shorter one are zeros.
struct Compared {
  std::array<std::uint16_t, kChunk> values;
  std::array<std::uint8_t, kChunk> changed;
};

OUTPACE_INLINED void compare(std::span<const float> reference,
                             std::span<const float> next,
                             std::span<float> now,
                             Compared& compared) {
  const float* const old = reference.data();
  const float* const from = next.data();
  float* const to = now.data();
  const std::size_t length = next.size();
  compared.changed.fill(0);
  for (std::size_t i = 0; i < length; ++i) {
    compared.values[i] = to_bf16(from[i]);
  }
  for (std::size_t i = 0; i < length; ++i) {
    const auto bits = __builtin_bit_cast(std::uint32_t, old[i]) >> 16U;
    compared.changed[i] = static_cast<std::uint8_t>(bits != compared.values[i]);
  }
  for (std::size_t i = 0; i < length; ++i) {
    to[i] = from_bf16(compared.values[i]);
  }
}

// Without a branch, which would be guessed wrong at every other change.
void collect(const Compared& compared, std::size_t length, Changes& changes) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < length; ++i) {
    changes.places[count] = static_cast<std::uint16_t>(i);
    changes.values[count] = compared.values[i];
    count += compared.changed[i];
  }
  changes.count = count;
}

void write_bitmap(const Compared& compared, std::size_t length, std::byte* to) {
  for (std::size_t i = 0; i < bitmap_bytes(length); ++i) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, &compared.changed[8 * i], sizeof eight);
    // The product moves bit 8k to bit 56 + k, and no two others there.
    to[i] = static_cast<std::byte>((eight * 0x0102040810204080U) >> 56U);
  }
}

// REQUIRES: room for all of it. Gives back where it ends.
std::byte* write_changes(const Compared& compared,
                         const Changes& changes,
                         std::size_t length,
                         std::byte* to) {
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
    write_bitmap(compared, length, to);
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
    std::array<std::uint64_t, kChunk / 64> words{};
    std::memcpy(words.data(), bitmap.data(), bitmap.size());
    std::size_t found = 0;
    std::size_t last = 0;
    for (std::size_t begin = 0; begin < length; begin += 64) {
      std::uint64_t word = words[begin / 64];
      for (; word != 0 && found < changes.count; word &= word - 1) {
        last = begin + static_cast<std::size_t>(std::countr_zero(word));
        changes.places[found++] = static_cast<std::uint16_t>(last);
      }
      last = word != 0 ? length : last;  // There are more.
    }
    if (found != changes.count || last >= length) {
      refuse("its bits are not " + std::to_string(changes.count) + " of " + std::to_string(length));
    }
  }

  std::span<const std::byte> left_;
  std::size_t chunk_ = 0;
};

}  // namespace

void pack_delta(std::span<const float> reference,
                std::span<const float> next,
                std::span<float> now,
                std::vector<std::byte>& packed) {
  Compared compared;
  Changes changes;
  std::array<std::byte, kCountBytes + kChunk / 8 + kValueBytes * kChunk> chunk;
  packed.clear();
  for (std::size_t begin = 0; begin < next.size(); begin += kChunk) {
    const std::size_t length = std::min(kChunk, next.size() - begin);
    run_with(best_vectors(), [&]() OUTPACE_VECTORISED {
      compare(reference.subspan(begin, length),
              next.subspan(begin, length),
              now.subspan(begin, length),
              compared);
    });
    collect(compared, length, changes);
    packed.insert(
        packed.end(), chunk.data(), write_changes(compared, changes, length, chunk.data()));
  }
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
