#include "throughput/packing_rates.h"

#include <cmath>

#include <gtest/gtest.h>

namespace outpace::throughput {
namespace {

TEST(PackingRates, AreThoseMeasuredWhereTheyWere) {
  const PackingRates measured{.gradients = {{"int8", {1.5, 2.5}}},
                              .weights = {{"delta", {0.5, 0.7}}}};
  EXPECT_EQ(packing_rate(measured, compress::Kind::kInt8), (PackingRate{1.5, 2.5}));
  EXPECT_EQ(packing_rate(measured, compress::WeightsKind::kDelta), (PackingRate{0.5, 0.7}));
  EXPECT_EQ(packing_rate(measured, compress::Kind::kInt4), packing_rate({}, compress::Kind::kInt4));
  EXPECT_EQ(packing_rate(measured, compress::WeightsKind::kInt8),
            packing_rate({}, compress::WeightsKind::kInt8));
}

TEST(PackingRates, AreInfiniteWhereNothingIsPacked) {
  EXPECT_EQ(packing_rate({}, compress::Kind::kNone).pack, INFINITY);
  EXPECT_EQ(packing_rate({}, compress::WeightsKind::kNone).unpack, INFINITY);
}

}  // namespace
}  // namespace outpace::throughput
