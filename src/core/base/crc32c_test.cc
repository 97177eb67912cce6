#include "base/crc32c.h"

#include <string>

#include <gtest/gtest.h>

namespace outpace {
namespace {

// RFC 3720, B.4.
TEST(Crc32c, IsThatOfTheStandard) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, GoesOnAfterWhatCameBefore) {
  EXPECT_EQ(crc32c("6789", crc32c("12345")), 0xe3069283U);
}

}  // namespace
}  // namespace outpace
