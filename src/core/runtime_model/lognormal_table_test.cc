#include "runtime_model/lognormal_table.h"

#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::runtime_model {
namespace {

TEST(LognormalTable, AddsALognormalOfItsMedianWidthAndWeight) {
  const TimeGrid grid(0.1, 0.0125, 700);
  const LognormalTable table(grid);
  std::vector<float> mass(grid.bins(), 0.0F);
  table.add(300.0, std::log(0.2F), 0.5F, mass);
  EXPECT_NEAR(std::accumulate(mass.begin(), mass.end(), 0.0F), 0.5F, 1e-3F);
  // 84.13 % are below one sigma above the median: 16 bins. Widths are within 5 %.
  const float below = std::accumulate(mass.begin(), mass.begin() + 301 + 16, 0.0F);
  EXPECT_NEAR(below / 0.5F, 0.8413F, 0.02F);
}

TEST(LognormalTable, LeavesOutWhatIsNoNumberOrNoWeight) {
  const TimeGrid grid(0.1, 0.0125, 700);
  const LognormalTable table(grid);
  std::vector<float> mass(grid.bins(), 0.0F);
  table.add(NAN, 0.0F, 1.0F, mass);
  table.add(3.0, NAN, 1.0F, mass);
  table.add(3.0, 0.0F, 1e-5F, mass);
  EXPECT_EQ(std::accumulate(mass.begin(), mass.end(), 0.0F), 0.0F);
  table.add(-50.0, 0.0F, 1.0F, mass);  // At the nearer end.
  EXPECT_GT(mass.front(), 0.0F);
}

}  // namespace
}  // namespace outpace::runtime_model
