#include "live/put_off.h"

#include <gtest/gtest.h>

namespace outpace::live {
namespace {

Time at(int milliseconds) {
  return Time{std::chrono::milliseconds(milliseconds)};
}
bool something() {
  return true;
}
bool nothing() {
  return false;
}

TEST(PutOff, WaitsForWhatLiesInSockets) {
  PutOff put_off;
  EXPECT_TRUE(put_off.puts_off(at(100), at(100), something));
  EXPECT_EQ(put_off.again(at(100)), at(101));
  EXPECT_TRUE(put_off.puts_off(at(103), at(100), something));
  EXPECT_EQ(put_off.again(at(100)), at(104));
  EXPECT_FALSE(put_off.puts_off(at(104), at(100), nothing));
  EXPECT_EQ(put_off.again(at(150)), at(150));
}

TEST(PutOff, WaitsNoLongerThanItsLongest) {
  PutOff put_off;
  EXPECT_TRUE(put_off.puts_off(at(100), at(98), something));
  EXPECT_TRUE(put_off.puts_off(at(109), at(98), something));
  EXPECT_EQ(put_off.again(at(98)), at(110));
  EXPECT_FALSE(put_off.puts_off(at(110), at(98), something));
}

TEST(PutOff, TheNextDeadlineWaitsAnew) {
  PutOff put_off;
  EXPECT_TRUE(put_off.puts_off(at(100), at(100), something));
  EXPECT_FALSE(put_off.puts_off(at(110), at(100), something));
  EXPECT_TRUE(put_off.puts_off(at(111), at(111), something));
  EXPECT_EQ(put_off.again(at(111)), at(112));
}

TEST(PutOff, AsksOnlyWhenSomethingIsDue) {
  PutOff put_off;
  bool asked = false;
  EXPECT_FALSE(put_off.puts_off(at(99), at(100), [&] { return asked = true; }));
  EXPECT_FALSE(asked);
}

// A deadline that has moved away meanwhile, because the awaited gradient came.
TEST(PutOff, ADeadlineThatMovesIsNotPutOffAnyMore) {
  PutOff put_off;
  EXPECT_TRUE(put_off.puts_off(at(100), at(100), something));
  EXPECT_FALSE(put_off.puts_off(at(101), at(300), something));
  EXPECT_EQ(put_off.again(at(300)), at(300));
}

}  // namespace
}  // namespace outpace::live
