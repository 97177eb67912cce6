// Sparse differences of weights in bf16: chunk by chunk, the numbers that changed and where they
// are.
//
//   count of a chunk   2 bytes
//   places             12 bits each, ascending, if they are fewer bytes than the bits of the chunk;
//                      else a bit for each number of the chunk, low bits first
//   values             2 bytes each

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace outpace::compress {

// Sets `now` to `next` as bf16. REQUIRES: all have one size, none overlaps another, and `reference`
// has values of bf16.
void pack_delta(std::span<const float> reference,
                std::span<const float> next,
                std::span<float> now,
                std::vector<std::byte>& packed);
// Throws an Error (kFailure) if pack_delta() does not write such bytes. REQUIRES: as pack_delta().
void unpack_delta(std::span<const std::byte> packed,
                  std::span<const float> reference,
                  std::span<float> now);
[[nodiscard]] std::size_t packed_delta_most(std::size_t numbers);

}  // namespace outpace::compress
