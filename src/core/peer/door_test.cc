#include "peer/door.h"

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

TEST(Door, LetsInOneAtATimeInTheirOrder) {
  Door door;
  EXPECT_FALSE(door.inside());
  EXPECT_TRUE(door.knock({.rank = 4}));
  EXPECT_FALSE(door.knock({.rank = 2, .invited = true}));
  EXPECT_EQ(door.inside()->rank, 4U);
  const auto next = door.leave();
  EXPECT_EQ(next->rank, 2U);
  EXPECT_TRUE(next->invited);
  EXPECT_FALSE(door.leave());
}

}  // namespace
}  // namespace outpace::peer
