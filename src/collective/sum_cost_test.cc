#include "collective/sum_cost.h"

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::collective {
namespace {

TEST(SumCost, AByteCostsMuchLessThanAMessage) {
  const TemporaryDirectory folder;
  const SumCost cost = measure_sum_cost((folder.path() / "rendezvous").string(), 100'000, 20);
  EXPECT_GT(cost.message_seconds, 0.0);
  EXPECT_GE(cost.byte_seconds, 0.0);
  EXPECT_LT(cost.byte_seconds, cost.message_seconds);
}

}  // namespace
}  // namespace outpace::collective
