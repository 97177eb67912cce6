#include "admission/evaluators.h"

#include <gtest/gtest.h>

namespace outpace::admission {
namespace {

constexpr ConnectionId kFirst{1};
constexpr ConnectionId kSecond{2};
constexpr ConnectionId kThird{3};

TEST(Evaluators, AreServedOneAtATimeInTheOrderInWhichTheyCame) {
  Evaluators evaluators;
  EXPECT_TRUE(evaluators.come(kFirst));
  EXPECT_FALSE(evaluators.come(kSecond));
  EXPECT_FALSE(evaluators.come(kThird));
  EXPECT_EQ(evaluators.served(), kFirst);
  EXPECT_TRUE(evaluators.gone(kFirst));
  EXPECT_EQ(evaluators.served(), kSecond);
  EXPECT_TRUE(evaluators.gone(kSecond));
  EXPECT_EQ(evaluators.served(), kThird);
  EXPECT_TRUE(evaluators.gone(kThird));
  EXPECT_FALSE(evaluators.served().has_value());
}

TEST(Evaluators, OneThatLeavesTheLineChangesNothing) {
  Evaluators evaluators;
  EXPECT_TRUE(evaluators.come(kFirst));
  EXPECT_FALSE(evaluators.come(kSecond));
  EXPECT_FALSE(evaluators.gone(kSecond));
  EXPECT_EQ(evaluators.served(), kFirst);
  EXPECT_TRUE(evaluators.gone(kFirst));
  EXPECT_FALSE(evaluators.served().has_value());
}

TEST(Evaluators, AreAskedForOnce) {
  Evaluators evaluators;
  EXPECT_TRUE(evaluators.may_be_asked_for());
  EXPECT_TRUE(evaluators.ask());
  EXPECT_FALSE(evaluators.ask());
  EXPECT_FALSE(evaluators.may_be_asked_for());
}

TEST(Evaluators, OneThatWasStartedComesUntilItIsThereOrHasFailed) {
  Evaluators evaluators;
  evaluators.starts(Time{std::chrono::seconds(3)});
  EXPECT_TRUE(evaluators.comes());
  EXPECT_EQ(evaluators.asked_at(), Time{std::chrono::seconds(3)});
  EXPECT_TRUE(evaluators.come(kFirst));
  EXPECT_FALSE(evaluators.comes());
  evaluators.starts(Time{std::chrono::seconds(4)});
  EXPECT_FALSE(evaluators.comes()) << "one is there";
  EXPECT_TRUE(evaluators.gone(kFirst));
  evaluators.starts(Time{std::chrono::seconds(5)});
  evaluators.failed();
  EXPECT_FALSE(evaluators.comes());
}

TEST(Evaluators, NobodyWillAskWhereAllScriptsHaveEnded) {
  Evaluators evaluators;
  evaluators.nobody_will_ask();
  EXPECT_FALSE(evaluators.may_be_asked_for());
}

TEST(Evaluators, AreDismissedTogether) {
  Evaluators evaluators;
  EXPECT_TRUE(evaluators.come(kFirst));
  EXPECT_FALSE(evaluators.come(kSecond));
  evaluators.dismiss_all();
  EXPECT_FALSE(evaluators.served().has_value());
  EXPECT_FALSE(evaluators.gone(kFirst));
  EXPECT_FALSE(evaluators.served().has_value());
}

}  // namespace
}  // namespace outpace::admission
