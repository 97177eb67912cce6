#include "server/evaluations.h"

#include <gtest/gtest.h>

namespace outpace::server {
namespace {

void evaluate(Evaluations& evaluations, std::uint64_t version, double accuracy) {
  ASSERT_TRUE(
      evaluations.sent(Version{version}, Time{from_seconds(double(version))}, 32 * version));
  ASSERT_TRUE(evaluations.measured({Version{version}, accuracy, 0.5}).has_value());
}

TEST(Evaluations, TimesTheTargetAtTheFirstOfEnoughInARow) {
  Evaluations evaluations({.target = 0.84, .consecutive = 3});
  evaluate(evaluations, 1, 0.85);
  evaluate(evaluations, 2, 0.85);
  evaluate(evaluations, 3, 0.83);  // The row is broken.
  evaluate(evaluations, 4, 0.84);
  evaluate(evaluations, 5, 0.86);
  EXPECT_FALSE(evaluations.reached().has_value());
  evaluate(evaluations, 6, 0.84);
  ASSERT_TRUE(evaluations.reached().has_value());
  EXPECT_DOUBLE_EQ(to_seconds(*evaluations.reached()), 4.0);
  evaluate(evaluations, 7, 0.10);  // What comes later changes nothing.
  EXPECT_DOUBLE_EQ(to_seconds(*evaluations.reached()), 4.0);
}

TEST(Evaluations, EndsTheRunAtTheTargetUnlessToldToGoPastIt) {
  for (const bool ends : {true, false}) {
    Evaluations evaluations({.target = 0.84, .consecutive = 1, .ends = ends});
    evaluate(evaluations, 1, 0.80);
    EXPECT_FALSE(evaluations.ends_run());
    evaluate(evaluations, 2, 0.85);
    EXPECT_EQ(evaluations.ends_run(), ends);
    EXPECT_DOUBLE_EQ(to_seconds(*evaluations.reached()), 2.0);
  }
}

TEST(Evaluations, SkipsSnapshotsWhenTooManyWait) {
  Evaluations evaluations({.target = {}, .consecutive = 1});
  std::uint64_t version = 0;
  while (evaluations.sent(Version{++version}, Time{}, 0)) {
    ASSERT_LT(version, 1000U);
  }
  EXPECT_EQ(evaluations.skipped(), 1U);
  EXPECT_TRUE(evaluations.measured({Version{1}, 0.5, 0.5}).has_value());
  EXPECT_TRUE(evaluations.sent(Version{++version}, Time{}, 0));
}

TEST(Evaluations, NeverSkipsTheLastWeights) {
  Evaluations evaluations({.target = {}, .consecutive = 1});
  std::uint64_t version = 0;
  while (evaluations.sent(Version{++version}, Time{}, 0)) {
    ASSERT_LT(version, 1000U);
  }
  evaluations.sent_last(Version{version}, Time{}, 0);
  for (std::uint64_t measured = 1; measured <= version; ++measured) {
    EXPECT_TRUE(evaluations.measured({Version{measured}, 0.5, 0.5}).has_value());
  }
  EXPECT_EQ(evaluations.all().back().version, Version{version});
}

TEST(Evaluations, ASnapshotThatIsLostWithItsEvaluatorMayBeSentAgain) {
  Evaluations evaluations({.target = {}, .consecutive = 1});
  ASSERT_TRUE(evaluations.sent(Version{3}, Time{}, 0));
  EXPECT_EQ(evaluations.newest_sent(), Version{3});
  evaluations.lost();
  EXPECT_FALSE(evaluations.newest_sent().has_value());
  EXPECT_FALSE(evaluations.measured({Version{3}, 0.5, 0.5}).has_value());
}

TEST(Evaluations, IgnoresAMeasurementNobodyAskedFor) {
  Evaluations evaluations({.target = 0.5, .consecutive = 1});
  EXPECT_FALSE(evaluations.measured({Version{3}, 0.9, 0.1}).has_value());
  EXPECT_FALSE(evaluations.reached().has_value());
}

TEST(Evaluations, AreTheSameForEveryWorkerThatAsksForAnEpoch) {
  Evaluations evaluations({.target = {}, .consecutive = 1});
  EXPECT_EQ(evaluations.of_epoch(0, Version{4}), nullptr);
  evaluate(evaluations, 5, 0.5);
  ASSERT_NE(evaluations.of_epoch(0, Version{6}), nullptr);
  evaluate(evaluations, 7, 0.6);
  evaluate(evaluations, 8, 0.7);
  EXPECT_EQ(evaluations.of_epoch(0, Version{9})->version, Version{5});
  EXPECT_EQ(evaluations.of_epoch(1, Version{9})->version, Version{8}) << "the newest";
  EXPECT_EQ(evaluations.of_epoch(2, Version{9}), nullptr) << "an epoch's own is to come";
  EXPECT_EQ(evaluations.of_epoch(2, Version{8})->version, Version{8}) << "nothing has changed";
}

}  // namespace
}  // namespace outpace::server
