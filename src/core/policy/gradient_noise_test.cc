#include "policy/gradient_noise.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::policy {
namespace {

TEST(GradientNoise, IsTheSampleVarianceOfTwoByHand) {
  // (3, 4) and (0, 0): their mean is (1.5, 2); the coordinates' variances are 4.5 and 8.
  GradientNoise noise;
  EXPECT_EQ(noise.worth(), std::nullopt);
  noise.hear(2.5, std::sqrt(12.5), 2);
  EXPECT_NEAR(noise.variance(), 12.5, 1e-12);
  EXPECT_NEAR(noise.squared_norm(), 0.0, 1e-12);  // All that is seen of the mean could be noise.
}

TEST(GradientNoise, OfALoneGradientNothingIsKnown) {
  GradientNoise noise;
  noise.hear(2.0, 2.0, 1);
  EXPECT_EQ(noise.worth(), std::nullopt);
  noise.hear(std::numeric_limits<double>::quiet_NaN(), 2.0, 4);
  EXPECT_EQ(noise.worth(), std::nullopt);
  noise.hear(2.0, std::numeric_limits<double>::infinity(), 4);
  EXPECT_EQ(noise.worth(), std::nullopt);
}

// V = 3 / 2 * 6 = 9 and G = 9 - 3 = 6, so phi = 1.5: c / (c + phi), times phi.
TEST(GradientNoise, AnUpdateIsWorthItsShareOfWhatExactGradientsBring) {
  GradientNoise noise;
  noise.hear(3.0, std::sqrt(15.0), 3);
  ASSERT_TRUE(noise.worth().has_value());
  const runtime_model::Worth worth = *noise.worth();
  for (const double c : {1.0, 2.0, 8.0}) {
    EXPECT_NEAR(worth.of(c), 1.5 * c / (c + 1.5), 1e-12) << c;
    EXPECT_NEAR(worth.gain(c, 2.0), worth.of(c + 2.0) - worth.of(c), 1e-12);
  }
  EXPECT_EQ(worth.of(0.0), 0.0);
}

TEST(GradientNoise, NoiseAloneCountsGradientsAndWithoutNoiseOneIsEnough) {
  GradientNoise all_noise;
  all_noise.hear(2.5, std::sqrt(12.5), 2);
  EXPECT_EQ(all_noise.worth()->of(3.0), 3.0);
  GradientNoise none;
  none.hear(2.0, 2.0, 2);
  EXPECT_NEAR(none.worth()->of(3.0) / none.worth()->of(1.0), 1.0, 1e-9);
  GradientNoise zero;  // Gradients of nothing but zeros.
  zero.hear(0.0, 0.0, 2);
  EXPECT_EQ(zero.worth()->of(3.0), 3.0);
}

// V = 9 and G = 6 as above, of gradients of 32 examples each: those of one have 32 times 9.
TEST(GradientNoise, ScaleIsTheVarianceOfAnExampleByTheSquareOfTheGradient) {
  GradientNoise noise;
  EXPECT_EQ(noise.scale(32), std::nullopt);
  noise.hear(2.0, 2.0, 1);
  EXPECT_EQ(noise.scale(32), std::nullopt);
  GradientNoise known;
  known.hear(3.0, std::sqrt(15.0), 3);
  ASSERT_TRUE(known.scale(32).has_value());
  EXPECT_NEAR(*known.scale(32), 32.0 * 9.0 / 6.0, 1e-9);
  GradientNoise nothing_else;
  nothing_else.hear(2.5, std::sqrt(12.5), 2);  // As the first: all could be noise.
  EXPECT_EQ(nothing_else.scale(32), std::nullopt);
}

// Gradients drawn around (2, 1, 0, ...), each coordinate with variance 0.3, of 1 to 8 at a time.
TEST(GradientNoise, EstimatesWithoutBiasWhateverTheCounts) {
  constexpr std::size_t kSize = 20;
  Rng rng(7, 0);
  GradientNoise noise;
  double variance = 0.0;
  double squared_norm = 0.0;
  constexpr int kUpdates = 4000;
  for (int i = 0; i < kUpdates; ++i) {
    const auto gradients = static_cast<std::uint32_t>(1 + rng.below(8));
    std::vector<double> mean(kSize, 0.0);
    double squares = 0.0;
    for (std::uint32_t j = 0; j < gradients; ++j) {
      for (std::size_t k = 0; k < kSize; ++k) {
        const double level = k == 0 ? 2.0 : k == 1 ? 1.0 : 0.0;
        const double value = level + std::sqrt(0.3) * rng.normal();
        mean[k] += value / gradients;
        squares += value * value / gradients;
      }
    }
    double mean_square = 0.0;
    for (const double value : mean) {
      mean_square += value * value;
    }
    noise.hear(std::sqrt(mean_square), std::sqrt(squares), gradients);
    variance += noise.variance() / kUpdates;
    squared_norm += noise.squared_norm() / kUpdates;
  }
  // 20 * 0.3 and 5; standard errors of about 0.015 and 0.05.
  EXPECT_NEAR(variance, 6.0, 0.06);
  EXPECT_NEAR(squared_norm, 5.0, 0.2);
}

}  // namespace
}  // namespace outpace::policy
