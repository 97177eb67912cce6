#include "compress/blocks.h"

#include <cmath>

#include <gtest/gtest.h>

#include "compress/packed_test.h"

namespace outpace::compress {
namespace {

TEST(Blocks, Int8IsAScaleAndABytePerNumber) {
  const Format int8{.kind = Kind::kInt8};
  // The largest is 127: the scale is 1, 0x3f80. Ties go to even.
  EXPECT_EQ(hex_of(int8, {127.0F, -127.0F, 0.5F, 1.5F, -0.5F, -3.0F}), "803f7f81000200fd");
  EXPECT_EQ(hex_of(int8, {0.0F, -0.0F}), "00000000");
  EXPECT_EQ(hex_of(int8, {1.0F, NAN}), "c07f0000");
  EXPECT_EQ(hex_of(int8, {1.0F, -INFINITY}), "c07f0000");
  // 128 / 127 is a little above the bf16 0x3f81, so that the scale is the next one.
  EXPECT_EQ(hex_of(int8, {128.0F}), "823f7e");
}

TEST(Blocks, Int4IsAScaleAndTwoNumbersInAByte) {
  const Format int4{.kind = Kind::kInt4};
  EXPECT_EQ(hex_of(int4, {7.0F, -7.0F, 0.5F, 1.5F, -1.0F}), "803f97200f");
  EXPECT_EQ(back(int4, {7.0F, -7.0F, 0.5F, 1.5F, -1.0F}), (Floats{7, -7, 0, 2, -1}));
}

}  // namespace
}  // namespace outpace::compress
