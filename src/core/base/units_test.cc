#include "base/units.h"

#include <gtest/gtest.h>

namespace outpace {
namespace {

TEST(Units, OfBandwidthAreBytesOrBitsASecond) {
  EXPECT_EQ(parse_bandwidth("125MBps"), 125e6);
  EXPECT_EQ(parse_bandwidth("10kBps"), 1e4);
  EXPECT_EQ(parse_bandwidth("2.25GBps"), 2.25e9);
  EXPECT_EQ(parse_bandwidth("1Gbps"), 125e6);
  EXPECT_EQ(parse_bandwidth("1.5MiBps"), 1572864.0);
  EXPECT_EQ(parse_bandwidth("1e3Bps"), 1000.0);
}

TEST(Units, OfTimeAreSecondsAndTheirParts) {
  EXPECT_EQ(parse_latency("50us"), 50 * 1e-6);  // As SimGrid computes it: off by the last bit.
  EXPECT_EQ(parse_latency("10ms"), 0.01);
  EXPECT_EQ(parse_latency("2s"), 2.0);
  EXPECT_EQ(parse_latency("1.5m"), 90.0);
  EXPECT_EQ(parse_latency("0ns"), 0.0);
}

TEST(Units, OfSizeAreBytes) {
  EXPECT_EQ(parse_bytes("400kB"), 4e5);
  EXPECT_EQ(parse_bytes("1.5MiB"), 1572864.0);
  EXPECT_EQ(parse_bytes("0B"), 0.0);
}

TEST(Units, OfSpeedAreOperationsASecond) {
  EXPECT_EQ(parse_speed("1Gf"), 1e9);
  EXPECT_EQ(parse_speed("98.095Mf"), 98.095e6);
  EXPECT_EQ(parse_speed("5f"), 5.0);
}

TEST(Units, MustBeThereAndOfTheRightKind) {
  for (const char* text : {"",
                           "125",
                           "MBps",
                           "-1MBps",
                           "0Bps",
                           "1 MBps",
                           "1MB",
                           "1us",
                           "nanBps",
                           "infBps",
                           "1e300EBps",
                           "1mBps"}) {
    EXPECT_EQ(parse_bandwidth(text), std::nullopt) << text;
  }
  for (const char* text : {"", "50", "us", "-1us", "1MBps", "1Ms", "1 s"}) {
    EXPECT_EQ(parse_latency(text), std::nullopt) << text;
  }
  for (const char* text : {"", "400", "kB", "-1kB", "1kb", "1MBps"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
  for (const char* text : {"", "1", "f", "-1Gf", "0f", "1GHz"}) {
    EXPECT_EQ(parse_speed(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace outpace
