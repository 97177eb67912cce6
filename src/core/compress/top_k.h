// Top-k: the numbers of each chunk with the largest magnitudes, as places and values of a few bits.
// The others are 0. Sizes are those of packed_bytes().

#pragma once

#include <cstddef>
#include <span>

#include "compress/format.h"
#include "compress/sums.h"
#include "compress/vectors.h"

namespace outpace::compress {

void pack_top_k(const Format& format,
                std::span<const float> numbers,
                std::byte* packed,
                Vectors vectors = best_vectors());
// What is left of a chunk with a sum that is not finite is what was left before.
void pack_top_k_sums(const Format& format,
                     const Sums& sums,
                     std::byte* packed,
                     Vectors vectors = best_vectors());
// Throws an Error if a place is beyond its chunk's end, or not above the one before it.
void unpack_top_k(const Format& format, const std::byte* packed, std::span<float> numbers);

}  // namespace outpace::compress
