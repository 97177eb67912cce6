#include "server/noise_scale.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::server {
namespace {

TEST(NoiseScale, IsUnknownUntilAnUpdateOfSeveralGradients) {
  NoiseScale scale(32);
  EXPECT_EQ(scale.examples(), std::nullopt);
  scale.add({.mean = 3.0, .single = 3.0, .gradients = 1});
  EXPECT_EQ(scale.examples(), std::nullopt);
}

// As in gradient_noise_test.cc: V = 9 of gradients of 32 examples each, and 6 of the loss's own.
TEST(NoiseScale, IsTheVarianceOfAnExampleOverTheSquaredNorm) {
  NoiseScale scale(32);
  scale.add({.mean = 3.0, .single = std::sqrt(15.0), .gradients = 3});
  ASSERT_TRUE(scale.examples().has_value());
  EXPECT_NEAR(*scale.examples(), 32.0 * 9.0 / 6.0, 1e-9);
}

}  // namespace
}  // namespace outpace::server
