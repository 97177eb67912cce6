#include "policy/in_turn.h"

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

TEST(InTurn, NamesThePoliciesOfARun) {
  EXPECT_EQ(in_turn("dynamic", "sync"), "dynamic, then sync");
  EXPECT_EQ(in_turn("dynamic, then sync", "sync"), "dynamic, then sync");
  EXPECT_EQ(in_turn("dynamic, then sync", "async"), "dynamic, then sync, then async");
  EXPECT_EQ(in_turn("a, then b, then c", "d"), "a, then others, then d");
  EXPECT_EQ(in_turn("a, then others, then d", "e"), "a, then others, then e");
}

}  // namespace
}  // namespace outpace::policy
