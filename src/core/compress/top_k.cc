#include "compress/top_k.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "compress/bits.h"
#include "compress/scale.h"

namespace outpace::compress {
namespace {

constexpr unsigned kPlaceBits = 12;

// A chunk that is being packed.
struct Chunk {
  std::size_t length;
  std::array<float, kChunk> numbers;
  // Without their signs, so that they compare as the numbers do. From `length` on to the end of a
  // block -1: no threshold reaches it.
  std::array<std::int32_t, kChunk> magnitudes;
  std::array<std::uint8_t, kChunk> chosen;
  std::array<std::uint16_t, kChunk> places;
};

// The functions on a whole chunk go over whole blocks, so that the compiler knows their length.
constexpr std::size_t blocks_up(std::size_t length) {
  return (length + kBlock - 1) / kBlock;
}

OUTPACE_INLINED void take_chunk(std::span<const float> numbers, Chunk& chunk) {
  chunk.length = numbers.size();
  std::memcpy(chunk.numbers.data(), numbers.data(), numbers.size_bytes());
}
OUTPACE_INLINED void take_chunk(const Sums& sums, Chunk& chunk) {
  chunk.length = sums.numbers.size();
  for (std::size_t i = 0; i < chunk.length; ++i) {
    chunk.numbers[i] = sums.numbers[i] + sums.share * sums.before[i];
  }
}

// Sets the magnitudes, and gives back the largest.
OUTPACE_INLINED std::int32_t measure(Chunk& chunk) {
  const std::size_t end = blocks_up(chunk.length) * kBlock;
  std::memset(&chunk.magnitudes[end - kBlock], 0xff, kBlock * sizeof(std::int32_t));
  std::int32_t peak = 0;
  for (std::size_t i = 0; i < chunk.length; ++i) {
    const auto bits = __builtin_bit_cast(std::uint32_t, chunk.numbers[i]);
    const auto magnitude = static_cast<std::int32_t>(bits & kMagnitude);
    chunk.magnitudes[i] = magnitude;
    peak = peak < magnitude ? magnitude : peak;
  }
  return peak;
}

OUTPACE_INLINED std::size_t count_from(const Chunk& chunk, std::int32_t threshold) {
  std::int32_t count = 0;
  for (std::size_t block = 0; block < blocks_up(chunk.length); ++block) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      count += static_cast<std::int32_t>(chunk.magnitudes[block * kBlock + i] >= threshold);
    }
  }
  return static_cast<std::size_t>(count);
}

// Chooses the `kept` largest magnitudes, among equal ones the first, and sets their places. The
// threshold is found by halving the range of its bits: a pass over the chunk in the processor's
// nearest cache is quick, and one that leaves just as many as are kept is the last.
OUTPACE_INLINED void choose_largest(Chunk& chunk, std::size_t kept, std::int32_t peak) {
  std::uint32_t threshold = 0;                                 // At least `kept` reach it,
  std::uint32_t above = static_cast<std::uint32_t>(peak) + 1;  // and fewer reach this.
  while (above - threshold > 1) {
    const std::uint32_t middle = threshold + (above - threshold) / 2;
    const std::size_t count = count_from(chunk, static_cast<std::int32_t>(middle));
    (count >= kept ? threshold : above) = middle;
    if (count == kept) {
      break;
    }
  }
  const auto least = static_cast<std::int32_t>(threshold);
  const std::size_t larger = least == peak ? 0 : count_from(chunk, least + 1);
  std::size_t ties = kept - larger;
  for (std::size_t block = 0; block < blocks_up(chunk.length); ++block) {
    for (std::size_t i = block * kBlock; i < (block + 1) * kBlock; ++i) {
      chunk.chosen[i] = static_cast<std::uint8_t>(chunk.magnitudes[i] >= least);
    }
  }
  std::size_t found = 0;
  for (std::size_t begin = 0; begin < blocks_up(chunk.length) * kBlock; begin += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, &chunk.chosen[begin], sizeof eight);
    for (; eight != 0; eight &= eight - 1) {
      const std::size_t place = begin + static_cast<std::size_t>(__builtin_ctzll(eight)) / 8;
      const bool tie = chunk.magnitudes[place] == least;
      if (!tie || ties > 0) {
        ties -= tie ? 1 : 0;
        chunk.places[found++] = static_cast<std::uint16_t>(place);
      }
    }
  }
}

// Writes the chunk, and subtracts from its numbers what was written of them if the scale is finite.
std::byte* write_chunk(const Format& format, Chunk& chunk, std::uint32_t scale, std::byte* to) {
  const std::size_t kept = kept_of(format, chunk.length);
  put_scale(scale, to);
  BitWriter places(to + 2);
  for (std::size_t i = 0; i < kept; ++i) {
    places.put(chunk.places[i], kPlaceBits);
  }
  BitWriter values(places.pad());
  // The levels are odd multiples of the scale. A number is between two even ones, and ties go up.
  const bool written = scale != 0 && scale != kNaN;
  const float unit = std::bit_cast<float>(scale);
  const int half = 1 << (format.bits - 1);
  for (std::size_t i = 0; i < kept; ++i) {
    float& number = chunk.numbers[chunk.places[i]];
    int level = 0;
    if (written) {
      const float steps = number / (2.0F * unit);
      level = static_cast<int>(steps);
      level -= static_cast<float>(level) > steps ? 1 : 0;  // Rounded down.
      number -= unit * static_cast<float>(2 * level + 1);
    }
    values.put(static_cast<std::uint32_t>(level + half), format.bits);
  }
  return values.pad();
}

OUTPACE_INLINED std::uint32_t choose_and_scale(const Format& format, Chunk& chunk) {
  const std::int32_t peak = measure(chunk);
  choose_largest(chunk, kept_of(format, chunk.length), peak);
  const float top = static_cast<float>((1U << format.bits) - 1);
  return scale_for(static_cast<std::uint32_t>(peak), top);
}

const std::byte* unpack_chunk(const Format& format,
                              const std::byte* packed,
                              std::span<float> chunk,
                              std::size_t number) {
  const float scale = get_scale(packed);
  const std::size_t kept = kept_of(format, chunk.size());
  BitReader places(packed + 2);
  BitReader values(packed + 2 + (kPlaceBits * kept + 7) / 8);
  std::fill(chunk.begin(), chunk.end(), 0.0F);
  const int top = static_cast<int>((1U << format.bits) - 1);
  std::size_t next = 0;  // The least place that may come.
  for (std::size_t i = 0; i < kept; ++i) {
    const std::uint32_t place = places.get(kPlaceBits);
    if (place < next || place >= chunk.size()) {
      throw Error(ExitCode::kFailure,
                  "packed numbers: chunk " + std::to_string(number) + ", number " +
                      std::to_string(i) + ": place " + std::to_string(place) +
                      (place < next ? " is not above the one before it"
                                    : " is beyond the chunk's " + std::to_string(chunk.size()) +
                                          " numbers"));
    }
    next = place + 1;
    const int level = 2 * static_cast<int>(values.get(format.bits)) - top;
    chunk[place] = scale * static_cast<float>(level);
  }
  return values.skip_padding();
}

}  // namespace

void pack_top_k(const Format& format,
                std::span<const float> numbers,
                std::byte* packed,
                Vectors vectors) {
  Chunk chunk;
  for (std::size_t begin = 0; begin < numbers.size(); begin += kChunk) {
    const auto part = numbers.subspan(begin, std::min(kChunk, numbers.size() - begin));
    std::uint32_t scale = 0;
    run_with(vectors, [&]() OUTPACE_VECTORISED {
      take_chunk(part, chunk);
      scale = choose_and_scale(format, chunk);
    });
    packed = write_chunk(format, chunk, scale, packed);
  }
}

void pack_top_k_sums(const Format& format, const Sums& sums, std::byte* packed, Vectors vectors) {
  Chunk chunk;
  for (std::size_t begin = 0; begin < sums.numbers.size(); begin += kChunk) {
    const std::size_t length = std::min(kChunk, sums.numbers.size() - begin);
    const Sums part{.numbers = sums.numbers.subspan(begin, length),
                    .before = sums.before.subspan(begin, length),
                    .share = sums.share,
                    .after = sums.after.subspan(begin, length)};
    std::uint32_t scale = 0;
    run_with(vectors, [&]() OUTPACE_VECTORISED {
      take_chunk(part, chunk);
      scale = choose_and_scale(format, chunk);
    });
    packed = write_chunk(format, chunk, scale, packed);
    const float* const left = scale == kNaN ? part.before.data() : chunk.numbers.data();
    std::memcpy(part.after.data(), left, part.after.size_bytes());
  }
}

void unpack_top_k(const Format& format, const std::byte* packed, std::span<float> numbers) {
  for (std::size_t begin = 0; begin < numbers.size(); begin += kChunk) {
    const auto chunk = numbers.subspan(begin, std::min(kChunk, numbers.size() - begin));
    packed = unpack_chunk(format, packed, chunk, begin / kChunk);
  }
}

}  // namespace outpace::compress
