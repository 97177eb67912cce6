#include "runtime_model/emission.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace outpace::runtime_model {
namespace {

constexpr double kStep = 0.0125;
constexpr int kSpacing = 3;

Emission::Likelihood of_levels(std::size_t levels) {
  return {.core = std::vector<float>(levels), .outlier = std::vector<float>(levels)};
}

TEST(Emission, SpreadsOutNoMoreAndNoLessThanItIsGiven) {
  const Emission emission(kStep, kSpacing);
  for (const std::size_t level : {0U, 100U, 239U}) {  // At the ends, all goes to the end bins.
    std::vector<float> mass(720, 0.0F);
    emission.add_core({}, level, 2.0, mass);
    emission.add_outliers(level, 2.0, mass);
    EXPECT_NEAR(std::accumulate(mass.begin(), mass.end(), 0.0), 2.0, 1e-3);
  }
}

// Two ways to the same number: the density, summed over runtimes that are longer.
TEST(Emission, SurvivalIsTheDensityOfAllThatIsLonger) {
  const Emission emission(kStep, kSpacing);
  Emission::Likelihood now = of_levels(200);
  Emission::Likelihood longer = of_levels(200);
  constexpr double kAt = 310.0;
  emission.survival({}, kAt, longer);
  std::vector<double> sums(200, 0.0);
  for (double later = kAt; later < kAt + 1500.0; later += 0.25) {
    emission.density({}, later, now);
    for (std::size_t l = 0; l < sums.size(); ++l) {
      sums[l] += (now.core[l] + now.outlier[l]) * 0.25 * kStep;
    }
  }
  for (std::size_t l = 20; l < 180; ++l) {
    EXPECT_NEAR(sums[l], longer.core[l] + longer.outlier[l], 0.02) << l;
  }
}

TEST(Emission, LearnsTheWidthOfTheCoreAndHowManyAreOutliers) {
  Emission emission(kStep, kSpacing);
  Emission::Spread spread;
  for (int i = 0; i < 4000; ++i) {
    emission.learn(spread, i % 2 == 0 ? 4.0 : -4.0, 0.95, 0.05);  // 4 bins: 0.05 in log units.
  }
  emission.refresh();
  Emission::Likelihood parts = of_levels(200);
  emission.density(spread, 300.0, parts);  // The density at level 100 exactly: the top of the core.
  const double top = 0.95 / (0.05 * std::sqrt(2.0 * 3.14159265358979));
  EXPECT_NEAR(parts.core[100], top, 0.1 * top);  // Widths come in steps of 15 %.
}

}  // namespace
}  // namespace outpace::runtime_model
