// int8 and int4: blocks of kBlock numbers that share a scale. Packed numbers differ from the
// numbers by half a scale at most. Sizes are those of packed_bytes().

#pragma once

#include <cstddef>
#include <span>

#include "compress/format.h"
#include "compress/sums.h"
#include "compress/vectors.h"

namespace outpace::compress {

// REQUIRES for all: kind is kInt8 or kInt4.
void pack_blocks(Kind kind,
                 std::span<const float> numbers,
                 std::byte* packed,
                 Vectors vectors = best_vectors());
// What is left of a block with a sum that is not finite is what was left before. The numbers alone
// are packed if `before` and `after` are empty.
void pack_block_sums(Kind kind,
                     const Sums& sums,
                     std::byte* packed,
                     Vectors vectors = best_vectors());
void unpack_blocks(Kind kind,
                   const std::byte* packed,
                   std::span<float> numbers,
                   Vectors vectors = best_vectors());

}  // namespace outpace::compress
