#include "admission/roster.h"

#include <gtest/gtest.h>

namespace outpace::admission {
namespace {

constexpr ConnectionId kOne{1};
constexpr ConnectionId kTwo{2};
constexpr WorkerId kWorker{3};

TEST(Roster, CountsTheIncarnationsOfAWorker) {
  Roster roster({{WorkerId{5}, 7}});
  EXPECT_EQ(roster.add_worker(kOne, {.worker = kWorker}).incarnation, 1U);
  EXPECT_EQ(roster.add_worker(kTwo, {.worker = WorkerId{5}}).incarnation, 8U);
  EXPECT_EQ(roster.holder(kWorker), kOne);
  EXPECT_FALSE(roster.holder(WorkerId{0}).has_value());
  EXPECT_FALSE(roster.holder(WorkerId{99}).has_value());
  roster.send_away(kOne);
  EXPECT_FALSE(roster.holder(kWorker).has_value());
  EXPECT_EQ(roster.add_worker(ConnectionId{9}, {.worker = kWorker}).incarnation, 2U);
}

TEST(Roster, AWorkerIsAMemberFromItsJoinUntilItGoes) {
  Roster roster({});
  roster.add_worker(kOne, {.worker = kWorker});
  EXPECT_FALSE(roster.member(kWorker).has_value());
  EXPECT_EQ(roster.waiting().size(), 1U);
  roster.joined(kOne);
  EXPECT_EQ(roster.member(kWorker), kOne);
  EXPECT_TRUE(roster.find(kOne)->joined);
  EXPECT_TRUE(roster.waiting().empty());
  roster.unjoin_all();
  EXPECT_FALSE(roster.member(kWorker).has_value());
  EXPECT_EQ(roster.waiting().count(kOne), 1U);
  roster.joined(kOne);
  EXPECT_TRUE(roster.remove(kOne)->joined);
  EXPECT_FALSE(roster.member(kWorker).has_value());
  EXPECT_EQ(roster.find(kOne), nullptr);
}

TEST(Roster, APeerThatWasSentAwayIsKnownUntilItsConnectionHasClosed) {
  Roster roster({});
  roster.send_away(kOne);  // It had no role.
  EXPECT_EQ(roster.find(kOne)->role, Role::kSentAway);
  EXPECT_TRUE(roster.remove(kOne).has_value());
  EXPECT_FALSE(roster.remove(kOne).has_value());
  roster.add_worker(kTwo, {.worker = kWorker});
  roster.joined(kTwo);
  roster.send_away(kTwo);
  EXPECT_FALSE(roster.remove(kTwo)->joined) << "it had left before";
}

TEST(Roster, CountsWorkersAndEvaluators) {
  Roster roster({});
  roster.add_worker(kOne, {.worker = kWorker});
  roster.add_evaluator(kTwo);
  EXPECT_EQ(roster.workers(), 1U);
  EXPECT_EQ(roster.evaluators(), 1U);
  EXPECT_EQ(roster.all(Role::kEvaluator), std::vector{kTwo});
  EXPECT_EQ(roster.all(Role::kWorker), std::vector{kOne});
  roster.send_away(kTwo);
  roster.send_away(kTwo);
  (void)roster.remove(kOne);
  EXPECT_EQ(roster.workers(), 0U);
  EXPECT_EQ(roster.evaluators(), 0U);
}

TEST(Roster, KnowsWhenAWorkerWasHeardLast) {
  Roster roster({});
  roster.add_worker(kOne, {.worker = kWorker});
  const Time later{std::chrono::seconds(4)};
  roster.heard(later, kOne);
  roster.heard(later, kTwo);  // Nobody.
  EXPECT_EQ(roster.find(kOne)->last_heard, later);
  EXPECT_EQ(roster.find(kTwo), nullptr);
}

}  // namespace
}  // namespace outpace::admission
