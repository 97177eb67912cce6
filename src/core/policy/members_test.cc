#include "policy/members.h"

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

TEST(Members, VisitsTheLiveInWorkerOrder) {
  Members<int> members;
  members.join(WorkerId{4}) = 40;
  members.join(WorkerId{1}) = 10;
  members.join(WorkerId{2}) = 20;
  EXPECT_EQ(members.leave(WorkerId{2}), 20);
  EXPECT_EQ(members.live(), 2U);

  std::vector<int> seen;
  members.for_each([&](WorkerId /*worker*/, int state) { seen.push_back(state); });
  EXPECT_EQ(seen, (std::vector{10, 40}));
}

TEST(Members, ForgetWhatTheyKnewOfOneThatComesBack) {
  Members<int> members;
  members.join(WorkerId{0}) = 7;
  members.leave(WorkerId{0});
  EXPECT_EQ(members.join(WorkerId{0}), 0);
}

TEST(MembersDeathTest, KnowNobodyWhoIsNotLive) {
  Members<int> members;
  members.join(WorkerId{0});
  members.leave(WorkerId{0});
  EXPECT_DEATH((void)members[WorkerId{0}], "live");
  EXPECT_DEATH((void)members[WorkerId{9}], "live");
}

}  // namespace
}  // namespace outpace::policy
