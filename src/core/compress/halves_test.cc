#include "compress/halves.h"

#include <cmath>

#include <gtest/gtest.h>

#include "compress/packed_test.h"

namespace outpace::compress {
namespace {

TEST(Halves, Bf16IsTheUpperHalfRoundedToEven) {
  const Format bf16{.kind = Kind::kBf16};
  EXPECT_EQ(hex_of(bf16, {1.0F, -2.0F, 0.0F}), "803f00c00000");
  // Halfway between two: to the even one, down and up.
  EXPECT_EQ(hex_of(bf16, {0x1.01p0F, 0x1.03p0F, 0x1.010002p0F}), "803f823f813f");
  EXPECT_EQ(hex_of(bf16, {INFINITY, -INFINITY, 3.4e38F}), "807f80ff807f");
  EXPECT_TRUE(std::isnan(back(bf16, {NAN})[0]));
}

TEST(Halves, Fp16SaturatesAndHasSubnormalNumbers) {
  const Format fp16{.kind = Kind::kFp16};
  EXPECT_EQ(hex_of(fp16, {1.0F, -2.0F, 0.0F}), "003c00c00000");
  EXPECT_EQ(hex_of(fp16, {65504.0F, 65519.0F, 65520.0F, -1e9F}), "ff7bff7bff7bfffb");
  EXPECT_EQ(hex_of(fp16, {INFINITY, -INFINITY}), "007c00fc");
  EXPECT_EQ(hex_of(fp16, {0x1p-14F, 0x1p-24F, 0x1p-25F, 0x1.8p-24F}), "0004010000000200");
  EXPECT_TRUE(std::isnan(back(fp16, {NAN})[0]));
}

}  // namespace
}  // namespace outpace::compress
