#include "throughput/computing.h"

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

// Worker w takes 3 - w, and one more in the second draw.
Computing three_speeds() {
  return draw_computing(
      1, 2, 3, [](std::size_t /*period*/, std::size_t draw, std::uint32_t worker) {
        return 3.0 - worker + static_cast<double>(draw);
      });
}

TEST(Computing, KeepsDrawsAndEachWorkersMean) {
  const Computing computing = three_speeds();
  ASSERT_EQ(computing.size(), 1U);
  EXPECT_EQ(computing[0].mean, (std::vector<double>{3.5, 2.5, 1.5}));
  EXPECT_EQ(computing[0].draws, (std::vector<std::vector<double>>{{3, 2, 1}, {4, 3, 2}}));
}

TEST(Computing, ShrinksDeviationsTowardsTheMeanOfAll) {
  const Computing computing = with_deviations(three_speeds(), 0.0);
  EXPECT_EQ(computing[0].mean, (std::vector<double>{2.5, 2.5, 2.5}));
  EXPECT_EQ(computing[0].draws[1], (std::vector<double>{2.5, 2.5, 2.5}));
  EXPECT_EQ(with_deviations(three_speeds(), 0.5)[0].draws[0],
            (std::vector<double>{2.75, 2.25, 1.75}));
}

TEST(Computing, OfAPhaseIsASumOfDraws) {
  const Computing phases = in_phases(three_speeds(), 100, 1);
  EXPECT_EQ(phases[0].mean, (std::vector<double>{350, 250, 150}));
  double sum = 0.0;
  for (const std::vector<double>& row : phases[0].draws) {
    EXPECT_GT(row[0], 300) << "less than the shortest draws";
    EXPECT_LT(row[0], 400);
    sum += row[0];
  }
  EXPECT_NEAR(sum / 2.0, 350, 1e-9);
}

TEST(Computing, ScalesAll) {
  const Computing computing = scaled(three_speeds(), 2.0);
  EXPECT_EQ(computing[0].mean, (std::vector<double>{7, 5, 3}));
  EXPECT_EQ(computing[0].draws[0], (std::vector<double>{6, 4, 2}));
}

}  // namespace
}  // namespace outpace::throughput
