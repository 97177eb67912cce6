#include "compress/pack.h"

#include <cstring>

#include "base/check.h"
#include "compress/blocks.h"
#include "compress/halves.h"
#include "compress/top_k.h"

namespace outpace::compress {
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
    case Kind::kFp16:
      return pack_halves(format.kind, numbers, packed.data());
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
    case Kind::kFp16:
      return unpack_halves(format.kind, packed.data(), numbers);
    case Kind::kInt8:
    case Kind::kInt4:
      return unpack_blocks(format.kind, packed.data(), numbers);
    case Kind::kTopK:
      return unpack_top_k(format, packed.data(), numbers);
  }
}

}  // namespace outpace::compress
