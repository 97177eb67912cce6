#include "runtime_model/runtime_model.h"

#include <gtest/gtest.h>

#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

TEST(GridAround, ReachesFarBelowAndFarAboveTheMedianOfWhatWasSeen) {
  std::vector<Observation> seen = arrived({1.0, 2.0, 3.0, 1000.0, 2.5});
  seen.push_back({});  // Busy: says nothing.
  const TimeGrid grid = grid_around(median_seconds(seen));
  EXPECT_NEAR(grid.edge(0), 2.5 / 30.0, 1e-12);
  EXPECT_TRUE(grid.holds(0.1));
  EXPECT_TRUE(grid.holds(700.0));
}

}  // namespace
}  // namespace outpace::runtime_model
