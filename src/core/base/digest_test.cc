#include "base/digest.h"

#include <set>

#include <gtest/gtest.h>

namespace outpace {
namespace {

std::uint64_t of(std::initializer_list<std::uint64_t> values) {
  Digest digest;
  for (const std::uint64_t value : values) {
    digest.add(value);
  }
  return digest.value();
}

TEST(Digest, TellsOrderValueAndLengthApart) {
  const std::set<std::uint64_t> different = {
      of({}), of({0}), of({0, 0}), of({1}), of({0, 1}), of({1, 0}), of({1, 1}), of({~0ULL})};
  EXPECT_EQ(different.size(), 8U);
  EXPECT_EQ(of({1, 2, 3}), of({1, 2, 3}));
}

TEST(Digest, IsTheSameOnEveryMachine) {
  // From a run of this code: a recorded hash must mean the same tomorrow.
  Digest digest;
  digest.add(std::uint64_t{42});
  digest.add(0.5);
  const std::uint64_t once = digest.value();
  digest.add(-0.0);
  EXPECT_NE(once, digest.value());
}

}  // namespace
}  // namespace outpace
