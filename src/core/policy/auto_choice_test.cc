#include "policy/auto_choice.h"

#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

using Expected = std::vector<double>;

std::optional<AutoChoice::Change> look(AutoChoice& choice,
                                       const Expected& expected,
                                       std::optional<double> measured = std::nullopt,
                                       std::optional<double> loss = std::nullopt) {
  return choice.look({.expected = expected, .measured = measured, .loss = loss});
}

using Change = AutoChoice::Change;
using Cause = AutoChoice::Cause;

Change better(std::uint32_t to) {
  return {to, Cause::kBetter};
}

TEST(AutoChoice, StaysWhereNothingIsMuchBetter) {
  AutoChoice choice({{}, {}});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(look(choice, {1.0, 1.09}), std::nullopt);
  }
  EXPECT_NEAR(choice.regret(), 1.0 - 1.0 / 1.09, 1e-9);
}

TEST(AutoChoice, ChangesToWhatIsBetterInThreeLooksInARow) {
  AutoChoice choice({{}, {}, {}});
  EXPECT_EQ(look(choice, {1.0, 1.2, 1.0}), std::nullopt);
  EXPECT_EQ(look(choice, {1.0, 1.2, 1.0}), std::nullopt);
  EXPECT_EQ(look(choice, {1.0, 1.0, 1.0}), std::nullopt);  // It begins again.
  EXPECT_EQ(look(choice, {1.0, 1.2, 1.0}), std::nullopt);
  EXPECT_EQ(look(choice, {1.0, 1.2, 1.3}), std::nullopt);  // Another one is better.
  EXPECT_EQ(look(choice, {1.0, 1.2, 1.3}), std::nullopt);
  EXPECT_EQ(look(choice, {1.0, 1.2, 1.3}), better(2));
  choice.begin(2, std::nullopt);
  EXPECT_EQ(choice.present(), 2U);
}

// It does twice as well as estimated: another one that should be 1.5 times as good is not.
TEST(AutoChoice, AsksMoreOfWhatIsInDoubt) {
  AutoChoice choice({{}, {.doubt = 1.2}});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(look(choice, {1.0, 1.3}), std::nullopt);
  }
  EXPECT_EQ(look(choice, {1.0, 1.33}), std::nullopt);
  EXPECT_EQ(look(choice, {1.0, 1.33}), std::nullopt);
  EXPECT_EQ(look(choice, {1.0, 1.33}), better(1));
}

TEST(AutoChoice, BelievesWhatItMeasures) {
  AutoChoice choice({{}, {}});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(look(choice, {1.0, 1.5}, 2.0), std::nullopt);
  }
  EXPECT_NEAR(choice.candidates()[0].expected, 2.0, 1e-9);
}

TEST(AutoChoice, LeavesWhatPromisedMoreThanItKeeps) {
  AutoChoice choice({{}, {}});
  for (std::uint32_t i = 1; i < AutoChoice::kLooks; ++i) {
    EXPECT_EQ(look(choice, {1.0, 1.5}, 1.0), std::nullopt);
  }
  ASSERT_EQ(look(choice, {1.0, 1.5}, 1.0), better(1));
  choice.begin(1, std::nullopt);
  EXPECT_EQ(look(choice, {1.0, 1.5}, 0.1), std::nullopt);  // It has only begun.
  for (std::uint32_t i = 1; i < AutoChoice::kLooks; ++i) {
    EXPECT_EQ(look(choice, {1.0, 1.5}, 0.7), std::nullopt);
  }
  ASSERT_EQ(look(choice, {1.0, 1.5}, 0.7), better(0));
  choice.begin(0, std::nullopt);
  for (int i = 0; i < 10; ++i) {  // And it knows better from now on.
    EXPECT_EQ(look(choice, {1.0, 1.5}, 1.0), std::nullopt);
  }
}

TEST(AutoChoice, TriesOnceWhatItHasNotSeen) {
  for (const bool turns_out_better : {true, false}) {
    AutoChoice choice({{}, {.doubt = 1.15, .tried = true}});
    for (std::uint32_t i = 1; i < AutoChoice::kQuiet; ++i) {
      EXPECT_EQ(look(choice, {1.0, 0.95}), std::nullopt);
    }
    ASSERT_EQ(look(choice, {1.0, 0.95}), (Change{1, Cause::kTrial}));
    choice.begin(1, std::nullopt);
    const Expected seen{1.0, turns_out_better ? 2.0 : 0.95};
    for (std::uint32_t i = 1; i < AutoChoice::kTrialLooks; ++i) {
      EXPECT_EQ(look(choice, seen, seen[1]), std::nullopt);
    }
    const auto change = look(choice, seen, seen[1]);
    if (!turns_out_better) {
      ASSERT_EQ(change, better(0));
      choice.begin(0, std::nullopt);
    } else {
      ASSERT_EQ(change, std::nullopt);
    }
    for (std::uint32_t i = 0; i < 3 * AutoChoice::kQuiet; ++i) {
      EXPECT_EQ(look(choice, seen, seen[turns_out_better ? 1 : 0]), std::nullopt);
    }
  }
}

TEST(AutoChoice, NeverTakesWhatIsLeftOut) {
  AutoChoice choice({{}, {.left_out = true}, {.tried = true, .left_out = true}});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(look(choice, {1.0, 5.0, 1.0}), std::nullopt);
  }
  EXPECT_EQ(choice.regret(), 0.0);
}

TEST(AutoChoice, TriesNothingOfWhichMuchLessIsExpected) {
  AutoChoice choice({{}, {.tried = true}});
  for (std::uint32_t i = 0; i < 2 * AutoChoice::kQuiet; ++i) {
    EXPECT_EQ(look(choice, {1.0, 0.85}), std::nullopt);
  }
}

TEST(AutoChoice, BarsOneUnderWhichTheLossRises) {
  AutoChoice choice({{}, {}});
  for (std::uint32_t i = 1; i < AutoChoice::kLooks; ++i) {
    EXPECT_EQ(look(choice, {1.0, 2.0}), std::nullopt);
  }
  ASSERT_EQ(look(choice, {1.0, 2.0}), better(1));
  choice.begin(1, 0.5);
  EXPECT_EQ(look(choice, {1.0, 2.0}, std::nullopt, 0.74), std::nullopt);
  EXPECT_EQ(look(choice, {1.0, 2.0}, std::nullopt, 0.76), (Change{0, Cause::kLossRose}));
  EXPECT_TRUE(choice.candidates()[1].barred);
  choice.begin(0, 0.76);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(look(choice, {1.0, 2.0}, std::nullopt, 10.0), std::nullopt);
  }
}

TEST(AutoChoice, BarsOneUnderWhichTheLossIsNoNumber) {
  AutoChoice choice({{}, {}});
  choice.begin(1, 0.5);
  EXPECT_EQ(look(choice, {1.0, 2.0}, std::nullopt, std::numeric_limits<double>::quiet_NaN()),
            (Change{0, Cause::kLossRose}));
}

}  // namespace
}  // namespace outpace::policy
