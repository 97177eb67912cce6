// Numbers of a few bits, one after another, low bits first; the last byte is padded with zeros.

#pragma once

#include <cstddef>
#include <cstdint>

namespace outpace::compress {

class BitWriter {
 public:
  explicit BitWriter(std::byte* to) : to_(to) {}
  // REQUIRES: value < 2^bits, bits <= 32.
  void put(std::uint32_t value, unsigned bits) {
    waiting_ |= std::uint64_t{value} << count_;
    count_ += bits;
    while (count_ >= 8) {
      *to_++ = static_cast<std::byte>(waiting_ & 0xffU);
      waiting_ >>= 8U;
      count_ -= 8;
    }
  }
  // Ends the byte; the next number begins one. Gives back where it would lie.
  std::byte* pad() {
    if (count_ > 0) {
      put(0, 8 - count_);
    }
    return to_;
  }

 private:
  std::byte* to_;
  std::uint64_t waiting_ = 0;
  unsigned count_ = 0;  // Bits that wait.
};

class BitReader {
 public:
  explicit BitReader(const std::byte* from) : from_(from) {}
  [[nodiscard]] std::uint32_t get(unsigned bits) {
    while (count_ < bits) {
      ahead_ |= std::uint64_t{std::to_integer<std::uint8_t>(*from_++)} << count_;
      count_ += 8;
    }
    const auto value = static_cast<std::uint32_t>(ahead_ & ((std::uint64_t{1} << bits) - 1));
    ahead_ >>= bits;
    count_ -= bits;
    return value;
  }
  // Skips the rest of the byte. Gives back where the next one lies.
  const std::byte* skip_padding() {
    ahead_ = 0;
    count_ = 0;
    return from_;
  }

 private:
  const std::byte* from_;
  std::uint64_t ahead_ = 0;
  unsigned count_ = 0;  // Bits that were taken from memory and not given.
};

}  // namespace outpace::compress
