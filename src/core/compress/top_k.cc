#include "compress/top_k.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/bits.h"
#include "compress/scale.h"

namespace outpace::compress {
namespace {

constexpr unsigned kPlaceBits = 12;

// The places of the `kept` largest magnitudes, ascending; among equal ones the first are kept.
void choose(std::span<const std::uint32_t> magnitudes,
            std::size_t kept,
            std::vector<std::uint32_t>& places) {
  std::vector<std::uint32_t> sorted(magnitudes.begin(), magnitudes.end());
  const auto least = sorted.begin() + static_cast<std::ptrdiff_t>(kept - 1);
  std::nth_element(sorted.begin(), least, sorted.end(), std::greater<>());
  const std::uint32_t threshold = *least;
  auto ties = kept - static_cast<std::size_t>(std::count_if(
                         sorted.begin(), least, [&](auto one) { return one > threshold; }));
  places.clear();
  for (std::uint32_t place = 0; place < magnitudes.size(); ++place) {
    if (magnitudes[place] == threshold && ties > 0) {
      --ties;
      places.push_back(place);
    } else if (magnitudes[place] > threshold) {
      places.push_back(place);
    }
  }
}

std::byte* pack_chunk(const Format& format, std::span<const float> chunk, std::byte* packed) {
  std::vector<std::uint32_t> magnitudes(chunk.size());
  std::transform(chunk.begin(), chunk.end(), magnitudes.begin(), [](float number) {
    return std::bit_cast<std::uint32_t>(number) & kMagnitude;
  });
  const std::uint32_t peak = *std::max_element(magnitudes.begin(), magnitudes.end());
  const float top = static_cast<float>((1U << format.bits) - 1);
  const std::uint32_t bits = scale_for(peak, top);
  put_scale(bits, packed);
  packed += 2;
  std::vector<std::uint32_t> places;
  choose(magnitudes, kept_of(format, chunk.size()), places);
  BitWriter writer(packed);
  for (const std::uint32_t place : places) {
    writer.put(place, kPlaceBits);
  }
  writer.pad();
  // The levels are odd multiples of the scale. A number is between two even ones, and ties go up.
  const bool values = bits != 0 && bits != kNaN;
  const float step = 2.0F * std::bit_cast<float>(bits);
  const int middle = 1 << (format.bits - 1);
  for (const std::uint32_t place : places) {
    const int level = values ? static_cast<int>(std::floor(chunk[place] / step)) : 0;
    writer.put(static_cast<std::uint32_t>(middle + level), format.bits);
  }
  return writer.pad();
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

void pack_top_k(const Format& format, std::span<const float> numbers, std::byte* packed) {
  for (std::size_t begin = 0; begin < numbers.size(); begin += kChunk) {
    const auto chunk = numbers.subspan(begin, std::min(kChunk, numbers.size() - begin));
    packed = pack_chunk(format, chunk, packed);
  }
}

void unpack_top_k(const Format& format, const std::byte* packed, std::span<float> numbers) {
  for (std::size_t begin = 0; begin < numbers.size(); begin += kChunk) {
    const auto chunk = numbers.subspan(begin, std::min(kChunk, numbers.size() - begin));
    packed = unpack_chunk(format, packed, chunk, begin / kChunk);
  }
}

}  // namespace outpace::compress
