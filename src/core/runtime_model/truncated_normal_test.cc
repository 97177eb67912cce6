#include "runtime_model/truncated_normal.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::runtime_model {
namespace {

TEST(TruncatedNormal, HasTheMomentsThatIntegrationGives) {
  for (const double least : {-3.0, -0.5, 0.0, 1.0, 4.0, 9.0, 11.9, 12.1, 20.0}) {
    const Normal from{.mean = 0.5, .variance = 4.0};
    double sum = 0.0;
    double first = 0.0;
    double second = 0.0;
    for (int i = 0; i < 200'000; ++i) {
      const double beyond = 1e-4 * (i + 0.5);
      const double z = (least - 0.5) / 2.0;
      const double weight = std::exp(-0.5 * beyond * beyond - z * beyond);  // Sigmas beyond least.
      sum += weight;
      first += weight * beyond;
      second += weight * beyond * beyond;
    }
    const double mean = first / sum;
    const Normal found = truncated(from, least);
    EXPECT_NEAR(found.mean, least + 2.0 * mean, 1e-6) << least;
    EXPECT_NEAR(found.variance, 4.0 * (second / sum - mean * mean), 1e-5) << least;
  }
}

}  // namespace
}  // namespace outpace::runtime_model
