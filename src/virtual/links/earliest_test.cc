#include "links/earliest.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::links {
namespace {

TEST(Earliest, OfNothingIsNever) {
  EXPECT_EQ(Earliest(0).first(), Earliest::kNever);
  std::vector<std::uint32_t> all;
  Earliest(3).collect(Earliest::kNever, all);
  EXPECT_TRUE(all.empty());
}

TEST(Earliest, AgreesWithASearchThroughAll) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed, 0);
    std::vector<double> times(1 + rng.below(20), Earliest::kNever);
    Earliest earliest(times.size());
    for (int step = 0; step < 100; ++step) {
      const std::size_t index = rng.below(times.size());
      times[index] = rng.below(4) == 0 ? Earliest::kNever : static_cast<double>(rng.below(10));
      earliest.set(index, times[index]);
      ASSERT_EQ(earliest.first(), *std::min_element(times.begin(), times.end()));
      std::vector<std::uint32_t> expected;
      for (std::uint32_t i = 0; i < times.size(); ++i) {
        if (times[i] <= 5.0) {
          expected.push_back(i);
        }
      }
      std::vector<std::uint32_t> found;
      earliest.collect(5.0, found);
      ASSERT_EQ(found, expected);
    }
  }
}

}  // namespace
}  // namespace outpace::links
