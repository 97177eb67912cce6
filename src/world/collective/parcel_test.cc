#include "collective/parcel.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "compress/pack.h"

namespace outpace::collective {
namespace {

constexpr compress::Format kFormat{.kind = compress::Kind::kBf16};

TEST(Parcel, ComesBackAsTheNumbersThatWerePacked) {
  const std::vector<float> numbers{1.0F, -0.5F, 3.0F};
  std::vector<std::byte> parcel(parcel_bytes(kFormat, numbers.size()));
  EXPECT_EQ(parcel.size(), 2U * 3 + 4);
  compress::pack(kFormat, numbers, packed_in(parcel));
  seal(parcel);
  std::vector<float> found(3);
  open(kFormat, 1, parcel, found);
  EXPECT_EQ(found, numbers);  // A bf16 holds them exactly.
}

TEST(Parcel, AnyBitThatDiffersIsSeen) {
  std::vector<std::byte> parcel(parcel_bytes(kFormat, 3));
  compress::pack(kFormat, std::vector<float>{1.0F, -0.5F, 3.0F}, packed_in(parcel));
  seal(parcel);
  std::vector<float> found(3);
  for (std::size_t bit = 0; bit < 8 * parcel.size(); ++bit) {
    parcel[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_THROW(open(kFormat, 1, parcel, found), Error) << bit;
    parcel[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(Parcel, OneThatDidNotComeIsSeen) {
  std::vector<float> found(3);
  std::vector<std::byte> parcel(parcel_bytes(kFormat, 3), std::byte{7});
  clear(parcel);
  EXPECT_THROW(open(kFormat, 1, parcel, found), Error);
}

}  // namespace
}  // namespace outpace::collective
