// For tests of packed numbers: what a format makes of numbers, as hex digits and as numbers again.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compress/pack.h"

namespace outpace::compress {

using Floats = std::vector<float>;

inline std::vector<std::byte> packed_of(const Format& format, const Floats& numbers) {
  std::vector<std::byte> packed(packed_bytes(format, numbers.size()));
  pack(format, numbers, packed);
  return packed;
}
inline std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}
inline std::string hex_of(const Format& format, const Floats& numbers) {
  return hex(packed_of(format, numbers));
}
inline Floats back(const Format& format, const Floats& numbers) {
  Floats unpacked(numbers.size());
  unpack(format, packed_of(format, numbers), unpacked);
  return unpacked;
}

}  // namespace outpace::compress
