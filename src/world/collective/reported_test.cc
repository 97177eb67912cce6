#include "collective/reported.h"

#include <limits>

#include <gtest/gtest.h>

namespace outpace::collective {
namespace {

TEST(Reported, CountsComeBackToTheLastUnit) {
  const Reported told{
      .runtime = 0.25F,
      .carried = {.payloads = 3, .numbers = 16'777'217, .bytes = (1ULL << 48U) - 1}};
  const std::vector<float> payload = payload_of(told);
  ASSERT_EQ(payload.size(), kReportedNumbers);
  const auto found = reported_in(payload);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->runtime, 0.25F);
  EXPECT_EQ(found->carried, told.carried);
}

TEST(Reported, AnythingElseIsNoReport) {
  EXPECT_FALSE(reported_in(std::vector<float>{1.0F}));
  EXPECT_FALSE(reported_in(std::vector<float>(kReportedNumbers + 1)));
  for (const float digit : {-1.0F,
                            0.5F,
                            16'777'216.0F,
                            std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    for (std::size_t at = 1; at < kReportedNumbers; ++at) {
      std::vector<float> payload(kReportedNumbers);
      payload[at] = digit;
      EXPECT_FALSE(reported_in(payload)) << digit << " in place " << at;
    }
  }
}

}  // namespace
}  // namespace outpace::collective
