#include "run/packing_speed.h"

#include <gtest/gtest.h>

namespace outpace::run {
namespace {

TEST(PackingSpeed, IsMeasuredForEveryFormat) {
  const throughput::PackingRates rates = measure_packing(1000);
  EXPECT_EQ(rates.gradients.size(), 5U);
  EXPECT_EQ(rates.weights.size(), 3U);
  for (const auto* formats : {&rates.gradients, &rates.weights}) {
    for (const auto& [format, rate] : *formats) {
      EXPECT_GT(rate.pack, 0.0) << format;
      EXPECT_GT(rate.unpack, 0.0) << format;
      EXPECT_LT(rate.unpack, 1e6) << format;
    }
  }
}

}  // namespace
}  // namespace outpace::run
