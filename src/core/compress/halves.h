// bf16 and fp16: two bytes for each number. Sizes are those of packed_bytes().

#pragma once

#include <cstddef>
#include <span>

#include "compress/format.h"
#include "compress/sums.h"
#include "compress/vectors.h"

namespace outpace::compress {

// REQUIRES for all: kind is kBf16 or kFp16.
void pack_halves(Kind kind,
                 std::span<const float> numbers,
                 std::byte* packed,
                 Vectors vectors = best_vectors());
// What is left of a sum that is not finite, or becomes so, is what was left before.
void pack_half_sums(Kind kind,
                    const Sums& sums,
                    std::byte* packed,
                    Vectors vectors = best_vectors());
void unpack_halves(Kind kind,
                   const std::byte* packed,
                   std::span<float> numbers,
                   Vectors vectors = best_vectors());

}  // namespace outpace::compress
