// int8 and int4: blocks of kBlock numbers that share a scale. Packed numbers differ from the
// numbers by half a scale at most. Sizes are those of packed_bytes().

#pragma once

#include <cstddef>
#include <span>

namespace outpace::compress {

void pack_int8(std::span<const float> numbers, std::byte* packed);
void pack_int4(std::span<const float> numbers, std::byte* packed);
void unpack_int8(const std::byte* packed, std::span<float> numbers);
void unpack_int4(const std::byte* packed, std::span<float> numbers);

}  // namespace outpace::compress
