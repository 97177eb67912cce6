#include "base/wrapped.h"

#include <gtest/gtest.h>

namespace outpace {
namespace {

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 0, 7), "one two\nthree\n");
  EXPECT_EQ(wrapped("one two three four", 2, 9), "one two\n  three\n  four\n");
  EXPECT_EQ(wrapped("unbreakable word", 0, 4), "unbreakable\nword\n");
  EXPECT_EQ(wrapped("short"), "short\n");
  EXPECT_EQ(wrapped(""), "");
}

TEST(Wrapped, CountsCharactersAndKeepsNewlines) {
  EXPECT_EQ(wrapped("äää äää", 0, 7), "äää äää\n");
  EXPECT_EQ(wrapped("one\ntwo three\n", 0, 20), "one\ntwo three\n");
}

}  // namespace
}  // namespace outpace
