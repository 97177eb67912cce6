#include "base/number_text.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::shown {
namespace {

TEST(NumberText, GroupsByThousands) {
  EXPECT_EQ(grouped(std::uint64_t{0}), "0");
  EXPECT_EQ(grouped(std::uint64_t{999}), "999");
  EXPECT_EQ(grouped(std::uint64_t{1'000}), "1,000");
  EXPECT_EQ(grouped(std::uint64_t{123'456'789}), "123,456,789");
  EXPECT_EQ(grouped(7219.6), "7,220");
  EXPECT_EQ(grouped(NAN), "-");
}

TEST(NumberText, KeepsThreeDigitsOfARateAtLeast) {
  EXPECT_EQ(rate(0.0), "0");
  EXPECT_EQ(rate(0.53312), "0.533");
  EXPECT_EQ(rate(31.62), "31.6");
  EXPECT_EQ(rate(99.96), "100");
  EXPECT_EQ(rate(7219.6), "7,220");
  EXPECT_EQ(rate(1e300), "1e+300");
  EXPECT_EQ(rate(-1.0), "-");
  EXPECT_EQ(rate(NAN), "-");
  EXPECT_EQ(plain_rate(7219.6), "7220");
  EXPECT_EQ(plain_rate(0.53312), "0.533");
}

TEST(NumberText, KeepsThreeDigitsOrSo) {
  EXPECT_EQ(brief(0.4123), "0.412");
  EXPECT_EQ(brief(9.9996), "10.0");
  EXPECT_EQ(brief(31.62), "31.6");
  EXPECT_EQ(brief(1234.4), "1,234");
  EXPECT_EQ(brief(1e12), "1e+12");
  EXPECT_EQ(brief(INFINITY), "-");
  EXPECT_EQ(percent(0.8412), "84.1%");
}

TEST(NumberText, ShowsBytesInUnitsOf1024) {
  EXPECT_EQ(bytes(0), "0 B");
  EXPECT_EQ(bytes(1023), "1023 B");
  EXPECT_EQ(bytes(1536), "1.500 KiB");
  EXPECT_EQ(bytes(80'000'000), "76.3 MiB");
  EXPECT_EQ(bytes(UINT64_MAX), "16,777,216 TiB");
}

TEST(NumberText, ShowsSecondsThenMinutesThenHours) {
  EXPECT_EQ(elapsed(12.34), "12.3s");
  EXPECT_EQ(elapsed(99.94), "99.9s");
  EXPECT_EQ(elapsed(99.96), "1m40s");
  EXPECT_EQ(elapsed(725), "12m05s");
  EXPECT_EQ(elapsed(3599.9), "1h00m");
  EXPECT_EQ(elapsed(11'230), "3h07m");
  EXPECT_EQ(elapsed(NAN), "-");
}

}  // namespace
}  // namespace outpace::shown
