#include "worker/bucket_plan.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::worker {
namespace {

using Buckets = std::vector<Bucket>;

Buckets added(BucketFill& fill, std::size_t tensor) {
  const auto ready = fill.add(tensor);
  return {ready.begin(), ready.end()};
}

TEST(PlanBuckets, FillFromTheEndAndLeaveTheRestAtTheFront) {
  const std::vector<std::size_t> sizes{100, 10, 20, 5};
  // 5 + 20 are the first that hold 80 bytes; then 10 alone has 40, so 100 comes with it.
  EXPECT_EQ(plan_buckets(sizes, 80), (Buckets{{110, 135}, {0, 110}}));
  EXPECT_EQ(plan_buckets(sizes, 1), (Buckets{{130, 135}, {110, 130}, {100, 110}, {0, 100}}));
  EXPECT_EQ(plan_buckets(sizes, 1 << 20), (Buckets{{0, 135}}));
  EXPECT_EQ(plan_buckets({}, 80), Buckets{});
}

TEST(BucketFill, ABucketGoesOutWhenItIsFullAndThoseBeforeItAreOut) {
  const std::vector<std::size_t> sizes{4, 4, 4, 4};
  BucketFill fill(sizes, 32);  // Two tensors a bucket: {8, 16} and {0, 8}.
  EXPECT_EQ(added(fill, 3), Buckets{});
  EXPECT_EQ(added(fill, 0), Buckets{});
  EXPECT_EQ(added(fill, 1), Buckets{});  // Full, but the one before it is not.
  EXPECT_FALSE(fill.complete());
  EXPECT_EQ(added(fill, 2), (Buckets{{8, 16}, {0, 8}}));
  EXPECT_TRUE(fill.complete());
  fill.restart();
  EXPECT_FALSE(fill.complete());
  EXPECT_EQ(added(fill, 2), Buckets{});
  EXPECT_EQ(added(fill, 3), (Buckets{{8, 16}}));
}

TEST(BucketFill, AnyOrderOfTensorsGivesEveryBucketOnceAndInOrder) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed, 0);
    std::vector<std::size_t> sizes(1 + rng.below(12));
    std::vector<std::size_t> order(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = 1 + rng.below(50);
      order[i] = i;
    }
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[rng.below(i)]);
    }
    const std::size_t bytes = rng.below(300);
    BucketFill fill(sizes, bytes);
    Buckets all;
    for (const std::size_t tensor : order) {
      EXPECT_FALSE(fill.complete());
      const Buckets ready = added(fill, tensor);
      all.insert(all.end(), ready.begin(), ready.end());
    }
    EXPECT_TRUE(fill.complete());
    EXPECT_EQ(all, plan_buckets(sizes, bytes));
    EXPECT_EQ(all.back().begin, 0U);
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_EQ(all[i].end, all[i - 1].begin);
    }
  }
}

}  // namespace
}  // namespace outpace::worker
