#include "peer/membership.h"

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

protocol::Group group_of(std::uint32_t generation) {
  return {.generation = generation, .version = {}, .members = {WorkerId{0}}, .behind = {}};
}

TEST(Membership, AWorkerThatWasNotAskedSaysThatItsGroupIsBroken) {
  Membership membership;
  membership.asked({1});
  membership.out();
  EXPECT_EQ(membership.answer(), 1U);
  membership.told(group_of(1));
  EXPECT_TRUE(membership.joins().has_value());
  membership.out();
  EXPECT_EQ(membership.answer(), 1U);
  EXPECT_FALSE(membership.joins().has_value());
  membership.asked({2});
  EXPECT_EQ(membership.answer(), 2U);
  membership.told(group_of(2));
  EXPECT_EQ(membership.joins()->generation, 2U);
}

TEST(Membership, AGroupOfAnEarlierQuestionIsNotJoined) {
  Membership membership;
  membership.asked({1});
  EXPECT_TRUE(membership.must_leave());
  EXPECT_EQ(membership.answer(), 1U);
  membership.asked({2});
  membership.told(group_of(1));
  EXPECT_EQ(membership.answer(), 2U);
  EXPECT_FALSE(membership.joins().has_value());
  membership.told(group_of(2));
  EXPECT_TRUE(membership.joins().has_value());
  EXPECT_FALSE(membership.must_leave());
}

}  // namespace
}  // namespace outpace::peer
