// int8 and int4: blocks of kBlock numbers that share a scale. Packed numbers differ from the
// numbers by half a scale at most. Sizes are those of packed_bytes().

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compress/format.h"

namespace outpace::compress {

// Numbers x together with what is left of earlier ones: x + share * before is packed, and `after`
// becomes what that leaves behind. All have one size, and `after` overlaps none. Without `before`
// and `after` the numbers alone are packed.
struct Sums {
  std::span<const float> numbers;
  std::span<const float> before;
  float share;
  std::span<float> after;
};

// REQUIRES: kind is kInt8 or kInt4.
void pack_blocks(Kind kind, std::span<const float> numbers, std::byte* packed);
// What is left of a block with a sum that is not finite is what was left before.
void pack_block_sums(Kind kind, const Sums& sums, std::byte* packed);
void unpack_blocks(Kind kind, const std::byte* packed, std::span<float> numbers);

// The loops, compiled for one kind of processor. Each computes the same bits.
struct BlockLoops {
  const char* name;
  void (*pack)(Kind kind, const Sums& sums, std::byte* packed);
  void (*unpack)(Kind kind, const std::byte* packed, std::span<float> numbers);
};
// Those that run here, the fastest last. For tests; the functions above choose.
[[nodiscard]] std::vector<BlockLoops> block_loops();

}  // namespace outpace::compress
