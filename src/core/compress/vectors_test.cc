#include "compress/vectors.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "compress/blocks.h"
#include "compress/halves.h"
#include "compress/pack_twin_test.h"
#include "compress/packed_test.h"
#include "compress/top_k.h"

namespace outpace::compress {
namespace {

// All that a format computes of numbers and of what is left of earlier ones, by these vectors.
std::string all_bits(const Format& format,
                     const Floats& numbers,
                     const Floats& before,
                     Vectors vectors) {
  std::vector<std::byte> packed(packed_bytes(format, numbers.size()));
  std::vector<std::byte> packed_sums(packed.size());
  Floats after(numbers.size());
  Floats unpacked(numbers.size());
  const Sums sums{.numbers = numbers, .before = before, .share = 0.95F, .after = after};
  switch (format.kind) {
    case Kind::kNone:
      break;
    case Kind::kBf16:
    case Kind::kFp16:
      pack_halves(format.kind, numbers, packed.data(), vectors);
      pack_half_sums(format.kind, sums, packed_sums.data(), vectors);
      unpack_halves(format.kind, packed.data(), unpacked, vectors);
      break;
    case Kind::kInt8:
    case Kind::kInt4:
      pack_blocks(format.kind, numbers, packed.data(), vectors);
      pack_block_sums(format.kind, sums, packed_sums.data(), vectors);
      unpack_blocks(format.kind, packed.data(), unpacked, vectors);
      break;
    case Kind::kTopK:
      pack_top_k(format, numbers, packed.data(), vectors);
      pack_top_k_sums(format, sums, packed_sums.data(), vectors);
      break;
  }
  const auto text = [](const Floats& floats) {
    return std::string(reinterpret_cast<const char*>(floats.data()), 4 * floats.size());
  };
  return hex(packed) + hex(packed_sums) + text(after) + text(unpacked);
}

TEST(Vectors, AnyProcessorComputesTheSameBits) {
  constexpr std::uint64_t kSeed = 41;
  for (const Format& format : {Format{.kind = Kind::kBf16},
                               Format{.kind = Kind::kFp16},
                               Format{.kind = Kind::kInt8},
                               Format{.kind = Kind::kInt4},
                               Format{.kind = Kind::kTopK, .kept = 500, .bits = 4}}) {
    Rng rng(kSeed, 0);
    for (std::size_t length = 1; length < 6000; length += 1 + length / 20) {
      const Floats numbers = numbers_to_pack(rng, length, true);
      const Floats before = numbers_to_pack(rng, length, false);
      ASSERT_EQ(all_bits(format, numbers, before, Vectors::kAnywhere),
                all_bits(format, numbers, before, best_vectors()))
          << Compression{.format = format}.name() << ", length " << length << ", seed " << kSeed;
    }
  }
}

// The sum is packed as other numbers are, and what is left of it is its difference to that.
TEST(Vectors, WithWhatWasLeftTheSumIsPacked) {
  constexpr std::uint64_t kSeed = 42;
  for (const char* spec : {"bf16", "fp16", "int8", "int4", "topk:share=0.1,bits=2"}) {
    const Compression compression = Compression::parse(std::string(spec));
    const Format& format = compression.format;
    Rng rng(kSeed, 0);
    for (std::size_t length = 1; length < 6000; length += 1 + length / 20) {
      const Floats numbers = numbers_to_pack(rng, length, false);
      const Floats before = numbers_to_pack(rng, length, false);
      Floats sums(length);
      for (std::size_t i = 0; i < length; ++i) {
        sums[i] = numbers[i] + 0.95F * before[i];
      }
      Floats after(length);
      std::vector<std::byte> packed(packed_bytes(format, length));
      const Sums both{.numbers = numbers, .before = before, .share = 0.95F, .after = after};
      if (format.kind == Kind::kTopK) {
        pack_top_k_sums(format, both, packed.data());
      } else if (format.kind == Kind::kInt8 || format.kind == Kind::kInt4) {
        pack_block_sums(format.kind, both, packed.data());
      } else {
        pack_half_sums(format.kind, both, packed.data());
      }
      ASSERT_EQ(hex(packed), hex_of(format, sums)) << spec << length << ", seed " << kSeed;
      const Floats unpacked = back(format, sums);
      bool finite = true;  // A sum may be too large, and so may a scale.
      for (std::size_t i = 0; i < length; ++i) {
        finite = finite && std::isfinite(sums[i]) && std::isfinite(unpacked[i]);
      }
      for (std::size_t i = 0; i < length && finite; ++i) {
        ASSERT_EQ(after[i], sums[i] - unpacked[i])
            << spec << ", length " << length << ", number " << i << ", seed " << kSeed;
      }
    }
  }
}

}  // namespace
}  // namespace outpace::compress
