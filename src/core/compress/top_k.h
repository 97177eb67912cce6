// Top-k: the numbers of each chunk with the largest magnitudes, as places and values of a few bits.
// The others are 0. Sizes are those of packed_bytes().

#pragma once

#include <cstddef>
#include <span>

#include "compress/format.h"

namespace outpace::compress {

void pack_top_k(const Format& format, std::span<const float> numbers, std::byte* packed);
// Throws an Error if a place is beyond its chunk's end, or not above the one before it.
void unpack_top_k(const Format& format, const std::byte* packed, std::span<float> numbers);

}  // namespace outpace::compress
