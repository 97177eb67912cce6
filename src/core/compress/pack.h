// Numbers into fewer bytes and back, the same bytes on every machine.

#pragma once

#include <cstddef>
#include <span>

#include "compress/format.h"

namespace outpace::compress {

// Numbers that are not finite are packed so that what is unpacked is not finite either, though
// perhaps others of the same block or chunk: the receiver refuses the gradient as it does a plain
// one. REQUIRES: packed.size() == packed_bytes(format, numbers.size()).
void pack(const Format& format, std::span<const float> numbers, std::span<std::byte> packed);

// Throws an Error (kFailure), one line that names chunk and number, if the bytes say places of
// top-k that pack() does not write: beyond the chunk's end, or not ascending. All other bytes are
// some numbers. REQUIRES: packed.size() == packed_bytes(format, numbers.size()).
void unpack(const Format& format, std::span<const std::byte> packed, std::span<float> numbers);

}  // namespace outpace::compress
