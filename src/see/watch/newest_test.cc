#include "watch/newest.h"

#include <string>

#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

TEST(Newest, KeepsTheNewestAndCountsAll) {
  Newest<int, 2> newest;
  for (int i = 1; i <= 3; ++i) {
    newest.add() = i;
  }
  EXPECT_EQ(newest.items(), (std::deque<int>{2, 3}));
  EXPECT_EQ(newest.added(), 3U);
}

TEST(Newest, UsesTheMemoryOfTheOldestAgain) {
  Newest<std::string, 2> newest;
  newest.add().assign(100, 'a');
  const char* const memory = newest.items().front().data();
  newest.add() = "b";
  EXPECT_EQ(newest.add().assign(100, 'c').data(), memory);
}

}  // namespace
}  // namespace outpace::watch
