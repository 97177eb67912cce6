#include "compress/pack.h"

#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "compress/blocks.h"
#include "compress/half.h"
#include "compress/top_k.h"

namespace outpace::compress {
namespace {

template <typename Convert>
void pack_halves(std::span<const float> numbers, std::byte* packed, Convert convert) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint16_t half = convert(numbers[i]);
    std::memcpy(packed + 2 * i, &half, sizeof half);
  }
}

template <typename Convert>
void unpack_halves(const std::byte* packed, std::span<float> numbers, Convert convert) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, packed + 2 * i, sizeof half);
    numbers[i] = convert(half);
  }
}

}  // namespace

void pack(const Format& format, std::span<const float> numbers, std::span<std::byte> packed) {
  CHECK(packed.size() == packed_bytes(format, numbers.size()));
  if (numbers.empty()) {
    return;
  }
  switch (format.kind) {
    case Kind::kNone:
      std::memcpy(packed.data(), numbers.data(), numbers.size_bytes());
      return;
    case Kind::kBf16:
      return pack_halves(numbers, packed.data(), [](float one) { return to_bf16(one); });
    case Kind::kFp16:
      return pack_halves(numbers, packed.data(), [](float one) { return to_fp16(one); });
    case Kind::kInt8:
    case Kind::kInt4:
      return pack_blocks(format.kind, numbers, packed.data());
    case Kind::kTopK:
      return pack_top_k(format, numbers, packed.data());
  }
}

void unpack(const Format& format, std::span<const std::byte> packed, std::span<float> numbers) {
  CHECK(packed.size() == packed_bytes(format, numbers.size()));
  if (numbers.empty()) {
    return;
  }
  switch (format.kind) {
    case Kind::kNone:
      std::memcpy(numbers.data(), packed.data(), packed.size());
      return;
    case Kind::kBf16:
      return unpack_halves(packed.data(), numbers, [](auto half) { return from_bf16(half); });
    case Kind::kFp16:
      return unpack_halves(packed.data(), numbers, [](auto half) { return from_fp16(half); });
    case Kind::kInt8:
    case Kind::kInt4:
      return unpack_blocks(format.kind, packed.data(), numbers);
    case Kind::kTopK:
      return unpack_top_k(format, packed.data(), numbers);
  }
}

}  // namespace outpace::compress
