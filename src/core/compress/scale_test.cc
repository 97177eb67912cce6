#include "compress/scale.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace outpace::compress {
namespace {

std::uint32_t scale_of(float peak, float levels) {
  return scale_for(std::bit_cast<std::uint32_t>(peak), levels);
}

TEST(Scale, IsTheLeastThatReachesThePeak) {
  for (const float levels : {3.0F, 7.0F, 15.0F, 127.0F, 255.0F}) {
    for (std::uint32_t scale = 0x00800000; scale < kInfinity; scale += 0x10000) {
      const float peak = std::bit_cast<float>(scale) * levels;
      if (std::isinf(peak)) {
        ASSERT_EQ(scale_of(std::bit_cast<float>(scale), 1.0F), scale);
        continue;
      }
      ASSERT_EQ(scale_of(peak, levels), scale) << levels;
      ASSERT_EQ(scale_of(std::nextafter(peak, 0.0F), levels), scale) << levels;
      const float above = std::nextafter(peak, INFINITY);
      const float next = std::bit_cast<float>(scale + 0x10000) * levels;
      ASSERT_EQ(scale_of(above, levels), std::isinf(next) ? kNaN : scale + 0x10000) << levels;
    }
  }
}

TEST(Scale, OfLittleIsTheLeastNormalNumberAndOfNothing0) {
  EXPECT_EQ(scale_of(0.0F, 127.0F), 0U);
  EXPECT_EQ(scale_of(std::numeric_limits<float>::denorm_min(), 127.0F), 0x00800000U);
  EXPECT_EQ(scale_of(1e-37F, 127.0F), 0x00800000U);
}

TEST(Scale, IsNaNWhereALevelWouldNotBeFinite) {
  EXPECT_EQ(scale_of(INFINITY, 7.0F), kNaN);
  EXPECT_EQ(scale_of(NAN, 7.0F), kNaN);
  EXPECT_EQ(scale_of(std::numeric_limits<float>::max(), 7.0F), kNaN);
  EXPECT_NE(scale_of(3.38e38F, 7.0F), kNaN);
}

}  // namespace
}  // namespace outpace::compress
