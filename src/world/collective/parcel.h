// Packed numbers (compress/pack.h) on their way from one worker to another, with a checksum behind
// them. The size follows from the format and how many numbers they are, so nothing is allocated on
// another worker's word. Bytes that are too few, or another format's, do not have the checksum.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "compress/format.h"

namespace outpace::collective {

// `exact`: how many numbers travel along as float32.
[[nodiscard]] std::size_t parcel_bytes(const compress::Format& format,
                                       std::size_t numbers,
                                       std::size_t exact = 0);

// The part of a parcel that takes the packed numbers. REQUIRES: parcel.size() is parcel_bytes()
// with this many exact numbers.
[[nodiscard]] std::span<std::byte> packed_in(std::span<std::byte> parcel, std::size_t exact = 0);
// Puts the exact numbers behind what is packed, and a checksum of both behind them.
void seal(std::span<std::byte> parcel, std::span<const float> exact = {});
// Receives into this: forgets the parcel that came before.
void clear(std::span<std::byte> parcel);

// Unpacks what has come from `rank`. Throws an Error of one line that names the rank if the
// checksum differs, or if the bytes are no numbers.
void open(const compress::Format& format,
          std::uint32_t rank,
          std::span<const std::byte> parcel,
          std::span<float> numbers,
          std::span<float> exact = {});

}  // namespace outpace::collective
