#include "job/count_list.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::job {
namespace {

using Counts = std::vector<std::uint32_t>;

TEST(CountList, HoldsNumbersAndRangesInTheOrderOfTheText) {
  EXPECT_EQ(count_list("8").counts, (Counts{8}));
  EXPECT_EQ(count_list("1,2,4").counts, (Counts{1, 2, 4}));
  EXPECT_EQ(count_list("6..8,1").counts, (Counts{6, 7, 8, 1}));
  EXPECT_EQ(count_list("3..3").counts, (Counts{3}));
}

TEST(CountList, KeepsItsText) {
  EXPECT_EQ(Value<CountList>::text(count_list("1..4,8")), "1..4,8");
}

TEST(CountList, RefusesWhatIsNoList) {
  for (const char* text :
       {"", "0", "1,,2", "4..1", "x", "1..", "..4", "-1", "1.5", "1..4..8", "1000001"}) {
    EXPECT_FALSE(Value<CountList>::parse(text)) << text;
  }
}

TEST(CountList, HasTenThousandNumbersAtMost) {
  EXPECT_EQ(count_list("1..10000").counts.size(), kCountsMost);
  EXPECT_FALSE(Value<CountList>::parse("1..10001"));
  EXPECT_FALSE(Value<CountList>::parse("1..10000,1"));
  EXPECT_FALSE(Value<CountList>::parse("1..18446744073709551615"));
}

TEST(CountList, IsHeldToTheMostOfItsOption) {
  check_most("shards", count_list("1,256"), 256);
  EXPECT_EQ(refusal_of([] { check_most("shards", count_list("1,257"), 256); }),
            "--shards is '1,257'; it takes a number, a range such as 1..64 or a list such as "
            "1,2,4, each number from 1 to 256, at most 10000 of them");
}

}  // namespace
}  // namespace outpace::job
