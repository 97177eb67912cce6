#include "policy/reason.h"

#include <set>

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

TEST(Reason, SaysItsNumbersInWords) {
  EXPECT_EQ(to_words({.why = Why::kCutoffReached, .a = 6, .b = 8}), "cutoff reached: 6 of 8 live");
  EXPECT_EQ(to_words({.why = Why::kJoined, .a = 3}), "joined: 3 live");
  EXPECT_EQ(to_words({.why = Why::kStragglerShrunk, .a = 13, .b = 1.0 / 3}),
            "straggler shrunk: lag 13, share 0.333");
}

TEST(Reason, WritesLargeCountsInFull) {
  EXPECT_EQ(to_words({.why = Why::kEachCounts, .a = 12345678}),
            "each gradient counts: staleness 12345678");
}

TEST(Reason, WithoutNumbersIsThePhraseAlone) {
  EXPECT_EQ(to_words(Why::kTooStale), "too stale");
  EXPECT_EQ(to_words({.why = Why::kRefused, .a = 5, .b = 5}), to_words(Why::kRefused));
}

TEST(Reason, SaysThatAnotherPolicyFollows) {
  EXPECT_TRUE(says_another_follows(to_words({.why = Why::kMoreExpected, .a = 0.5, .b = 0.75})));
  EXPECT_TRUE(says_another_follows(to_words({.why = Why::kLossRose, .a = 0.5, .b = 0.75})));
  EXPECT_FALSE(says_another_follows(to_words({.why = Why::kSwitched, .a = 3, .b = 4})));
  EXPECT_EQ(to_words({.why = Why::kMoreExpected, .a = 0.5, .b = 0.75}),
            "more progress expected: 0.5 exact steps a second, then 0.75");
}

TEST(Reason, HasADifferentPhraseForEachWhy) {
  std::set<std::string> phrases;
  constexpr auto kLast = static_cast<int>(Why::kFinished);
  for (int why = 0; why <= kLast; ++why) {
    phrases.insert(to_words(static_cast<Why>(why)));
  }
  EXPECT_EQ(phrases.size(), static_cast<std::size_t>(kLast) + 1);
  EXPECT_FALSE(phrases.contains("unknown"));
}

}  // namespace
}  // namespace outpace::policy
