#include "runtime_model/trial.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "runtime_model/model_list.h"
#include "runtime_model/probing.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

// One of four workers is four times as slow, and now and then another one is.
Trace slow_worker(std::size_t rows) {
  Rng rng(3, 0);
  std::vector<double> seconds;
  for (std::size_t i = 0; i < rows; ++i) {
    const bool surprise = i % 10 == 9;
    for (const double value : around({1.0, 1.0, surprise ? 6.0 : 1.0, 4.0}, 0.05, rng)) {
      seconds.push_back(value);
    }
  }
  return {seconds, 4};
}

TrialResult try_model(const Trace& trace, TrialOptions options, Decide decide = Decide::kDuring) {
  Cutoff cutoff(make_model("switching", 4), {.decide = decide});
  return try_cutoff(trace, cutoff, options);
}

TEST(Trial, ATraceHasAnotherOfItsFirstRows) {
  const Trace first = Trace({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, 2).first_rows(2);
  EXPECT_EQ(first.rows(), 2U);
  EXPECT_EQ(first.workers(), 2U);
  EXPECT_EQ(first.row(1)[0], 3.0);
  EXPECT_EQ(first.row(1)[1], 4.0);
}

TEST(Trial, WithHindsightByHand) {
  const Trace trace({1.0,
                     2.0,
                     9.0,  //
                     2.0,
                     3.0,
                     4.0},
                    3);
  EXPECT_DOUBLE_EQ(try_fixed(trace, 0, 3).omega, 6.0 / 13.0);
  EXPECT_DOUBLE_EQ(try_fixed(trace, 1, 3).omega, 3.0 / 4.0);
  EXPECT_EQ(best_fixed(trace, 0), 2U);                      // 4 / 5, before 2 / 3 and 6 / 13.
  EXPECT_DOUBLE_EQ(try_oracle(trace, 0).omega, 5.0 / 6.0);  // Two in 2 s, and three in 4 s.
}

TEST(Trial, TheOracleIsTheBestOfAllWaysToStop) {
  const Trace trace = slow_worker(5);
  double best = 0.0;
  for (int ways = 0; ways < 4 * 4 * 4 * 4 * 4; ++ways) {
    double count = 0.0;
    double seconds = 0.0;
    for (std::size_t i = 0, rest = static_cast<std::size_t>(ways); i < 5; ++i, rest /= 4) {
      std::vector<double> row(trace.row(i).begin(), trace.row(i).end());
      std::sort(row.begin(), row.end());
      count += static_cast<double>(rest % 4 + 1);
      seconds += row[rest % 4];
    }
    best = std::max(best, count / seconds);
  }
  EXPECT_DOUBLE_EQ(try_oracle(trace, 0).omega, best);
}

TEST(Trial, ACutoffGainsMostOfWhatThereIsToGain) {
  const Trace trace = slow_worker(400);
  const double sync = try_fixed(trace, 200, 4).omega;
  const double oracle = try_oracle(trace, 200).omega;
  const double before = try_model(trace, {.fit_rows = 200}, Decide::kBefore).omega;
  const double during = try_model(trace, {.fit_rows = 200}).omega;
  EXPECT_GT(oracle / sync, 2.0);
  EXPECT_GT(during, before);  // A count waits through each surprise.
  EXPECT_GT(during / oracle, 0.9);
}

TEST(Trial, ShowsEachIterationThatIsJudged) {
  const Trace trace = slow_worker(40);
  std::vector<TrialRow> ended;
  std::size_t forecasts = 0;
  const TrialResult found = try_model(
      trace, {.fit_rows = 30, .watch = [&](const TrialView& view) {
                EXPECT_EQ(view.row, 30 + ended.size());
                std::vector<double> came(trace.row(view.row).begin(), trace.row(view.row).end());
                std::sort(came.begin(), came.end());
                EXPECT_TRUE(std::equal(came.begin(), came.end(), view.came.begin()));
                forecasts += view.forecast != nullptr ? 1 : 0;
                ended.push_back(view.ended);
              }});
  ASSERT_EQ(ended.size(), found.rows.size());
  EXPECT_EQ(forecasts, 10U);
  for (std::size_t i = 0; i < ended.size(); ++i) {
    EXPECT_EQ(ended[i].count, found.rows[i].count);
    EXPECT_EQ(ended[i].seconds, found.rows[i].seconds);
  }
}

// All workers are slow together, by another factor each time: there is nothing to gain, and nothing
// may be lost to taking it for workers that turn slow one by one.
TEST(Trial, LosesNothingWhereAllAreSlowTogether) {
  Rng rng(5, 0);
  std::vector<double> seconds;
  double slow = 0.0;
  for (int i = 0; i < 400; ++i) {
    slow = 0.95 * slow + 0.3 * rng.normal();
    for (const double value : around(std::vector<double>(8, std::exp(0.5 * slow)), 0.05, rng)) {
      seconds.push_back(value);
    }
  }
  const Trace trace(seconds, 8);
  EXPECT_GT(try_model(trace, {.fit_rows = 200}).omega / try_fixed(trace, 200, 8).omega, 0.99);
}

// Nothing may depend on what a server would not have seen: how long the cut off would have taken.
// The first twenty times in a row they are told to stop; then one is let finish, and seen.
TEST(Trial, WhatWasCutOffIsNotLookedAt) {
  const Trace trace = slow_worker(200);
  const TrialResult seen = try_model(trace, {.fit_rows = 50});
  std::vector<double> other;
  int changed = 0;
  for (std::size_t i = 0; i < trace.rows(); ++i) {
    for (double seconds : trace.row(i)) {
      if (i >= 50 && i < 50 + Probing::kInVain && seconds > seen.rows[i - 50].seconds) {
        seconds *= 3.0;
        ++changed;
      }
      other.push_back(seconds);
    }
  }
  ASSERT_GE(changed, 10);
  const TrialResult again = try_model(Trace(other, 4), {.fit_rows = 50});
  for (std::size_t i = 0; i < seen.rows.size(); ++i) {
    ASSERT_EQ(seen.rows[i].count, again.rows[i].count) << i;
    ASSERT_EQ(seen.rows[i].seconds, again.rows[i].seconds) << i;
  }
}

TEST(Trial, TheTimeOfADecisionIsPartOfTheIteration) {
  const Trace trace = slow_worker(100);
  double now = 0.0;
  const TrialResult free = try_model(trace, {.fit_rows = 50});
  const TrialResult dear =
      try_model(trace, {.fit_rows = 50, .clock = [&now] { return now += 0.01; }});
  EXPECT_NEAR(dear.decision_p50, 0.01, 1e-9);
  EXPECT_LT(dear.omega, free.omega);
}

TEST(Trial, WhoFinishesFirstIsLateForTheNextIteration) {
  // The second worker needs three seconds and is cut off after one, until it is done.
  const Trace trace({1.0,
                     3.0,  //
                     1.0,
                     3.0,  //
                     1.0,
                     3.0,  //
                     1.0,
                     3.0},
                    2);
  Cutoff first(nullptr, {.least = 1});
  const TrialResult found = try_cutoff(trace, first, {.cut = Cut::kFinish});
  for (const TrialRow& row : found.rows) {
    EXPECT_EQ(row.seconds, 1.0);
    EXPECT_EQ(row.count, 1U);
  }
  Cutoff both(nullptr, {.least = 2});
  EXPECT_EQ(try_cutoff(trace, both, {.cut = Cut::kFinish}).omega, 2.0 / 3.0);
}

// Thirty judged iterations are too few to recalibrate, so only the rows before them can have.
TEST(Trial, DoesNotRecalibrateByRowsThatTheModelWasFittedTo) {
  const Trace trace = slow_worker(230);
  const TrialResult fitted = try_model(trace, {.fit_rows = 200, .fitted = true});
  EXPECT_EQ(fitted.recalibrated_crps, fitted.crps);
  EXPECT_EQ(fitted.recalibrated.in50, fitted.orders.in50);
  const TrialResult learning = try_model(trace, {.fit_rows = 200});
  EXPECT_NE(learning.recalibrated_crps, learning.crps);
}

TEST(Trial, LearnsInTheRunWithoutAFit) {
  const Trace trace = slow_worker(300);
  const TrialResult found = try_model(trace, {.fit_rows = 0});
  EXPECT_GT(found.omega / try_fixed(trace, 0, 4).omega, 2.0);
}

}  // namespace
}  // namespace outpace::runtime_model
