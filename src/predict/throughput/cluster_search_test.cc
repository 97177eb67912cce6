#include "throughput/cluster_search.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::throughput {
namespace {

struct Truth {
  std::vector<Candidate> candidates;
  std::vector<double> values;
};

// Costs of few different values, so that there are ties; guesses that are never too low by more
// than the margin.
Truth some_truth(std::uint64_t seed) {
  Rng rng(seed, 0);
  Truth truth;
  const std::size_t count = 1 + rng.below(60);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = 100.0 * (1.0 + static_cast<double>(rng.below(1000)));
    const double off = 0.95 + 0.5 * static_cast<double>(rng.below(100)) / 100.0;
    truth.candidates.push_back(
        {.guess = value * off, .cost = 1.0 + static_cast<double>(rng.below(20))});
    truth.values.push_back(value);
  }
  return truth;
}

// Verifies everything, and compares everything with everything.
std::vector<double> best_by_hand(const Truth& truth, const PlanOptions& options) {
  struct One {
    double value;
    double cost;
  };
  std::vector<One> kept;
  for (std::size_t i = 0; i < truth.values.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < truth.values.size(); ++j) {
      const double value = truth.values[j] - truth.values[i];
      const double cost = truth.candidates[j].cost - truth.candidates[i].cost;
      const bool same_but_earlier = value == 0.0 && cost == 0.0 && j < i;
      beaten |= value >= 0.0 && cost <= 0.0 && (value > 0.0 || cost < 0.0 || same_but_earlier);
    }
    if (!beaten) {
      kept.push_back({truth.values[i], truth.candidates[i].cost});
    }
  }
  const double target = options.target.value_or(0.0);
  const auto key = [&](const One& one) {
    if (one.value < target) {
      return std::pair(1, -one.value);
    }
    if (options.rank == Rank::kForCost) {
      return std::pair(0, -one.value / one.cost);
    }
    return std::pair(0, options.target ? one.cost : -one.value);
  };
  std::sort(kept.begin(), kept.end(), [&](const One& a, const One& b) {
    return std::pair(key(a), -a.value) < std::pair(key(b), -b.value);
  });
  std::vector<double> values;
  for (const One& one : kept) {
    if (values.size() < options.top) {
      values.push_back(one.value);
    }
  }
  return values;
}

TEST(Plan, FindsWhatVerifyingEverythingFinds) {
  std::size_t verified = 0;
  std::size_t all = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Truth truth = some_truth(seed);
    PlanOptions options{.rank = seed % 2 == 0 ? Rank::kMost : Rank::kForCost,
                        .top = 1 + static_cast<std::size_t>(seed % 7)};
    if (seed % 3 == 0) {
      options.target = 40'000.0;
    }
    const Plan plan = search_plan(
        truth.candidates, [&](std::size_t i) { return truth.values[i]; }, options);
    std::vector<double> values;
    for (const Planned& planned : plan.best) {
      EXPECT_TRUE(planned.verified);
      EXPECT_EQ(planned.value, truth.values[planned.candidate]);
      values.push_back(planned.value);
    }
    EXPECT_EQ(values, best_by_hand(truth, options)) << seed;
    verified += plan.verified;
    all += truth.values.size();
  }
  EXPECT_LT(verified, all / 2);
}

// Ten workers cost ten and do 100; each one more adds little.
TEST(Plan, SaysWhatIsNearlyAsGoodForLess) {
  const std::vector<Candidate> candidates{{50, 5}, {98, 10}, {99, 11}, {100, 20}};
  const auto as_guessed = [&](std::size_t i) { return candidates[i].guess; };
  const Plan plan = search_plan(candidates, as_guessed, {});
  EXPECT_EQ(plan.best.front().candidate, 3U);
  ASSERT_TRUE(plan.nearly.has_value());
  EXPECT_EQ(plan.nearly->candidate, 1U);
  EXPECT_FALSE(search_plan({{50, 5}, {100, 10}}, as_guessed, {}).nearly.has_value());
}

TEST(Plan, OfATargetThatNothingReachesTheClosestComesFirst) {
  const std::vector<Candidate> candidates{{50, 5}, {98, 10}, {60, 6}};
  const Plan plan = search_plan(
      candidates, [&](std::size_t i) { return candidates[i].guess; }, {.target = 1000.0});
  ASSERT_EQ(plan.best.size(), 3U);
  EXPECT_EQ(plan.best[0].candidate, 1U);
  EXPECT_EQ(plan.best[1].candidate, 2U);
}

TEST(Plan, VerifiesNoMoreThanItMay) {
  std::vector<Candidate> candidates;
  for (int i = 1; i <= 50; ++i) {
    candidates.push_back({.guess = 10.0 * i, .cost = 1.0 * i});
  }
  const Plan plan = search_plan(
      candidates, [&](std::size_t i) { return 0.5 * candidates[i].guess; }, {.verified_most = 3});
  EXPECT_EQ(plan.verified, 3U);
  EXPECT_FALSE(plan.best.front().verified);
  EXPECT_EQ(plan.best.front().value, candidates[plan.best.front().candidate].guess);
}

TEST(Plan, OfNothingIsNothing) {
  EXPECT_TRUE(search_plan({}, [](std::size_t) { return 0.0; }, {}).best.empty());
}

TEST(ClusterSearch, VerifiesWhateverTheFastModelDoesNotKnow) {
  const std::vector<Candidate> candidates{{.guess = 100.0, .cost = 1.0},
                                          {.guess = 0.0, .cost = 1.0, .is_guessed = false}};
  const std::vector<double> values{100.0, 150.0};
  const Plan plan = search_plan(candidates, [&](std::size_t i) { return values[i]; }, {.top = 1});
  ASSERT_EQ(plan.best.size(), 1U);
  EXPECT_EQ(plan.best.front().candidate, 1U);
}

TEST(ClusterSearch, LearnsHowFarTheFastModelIsOffForAKind) {
  // The fast model finds half of the truth for kind 1, and all of it for kind 0.
  const std::vector<Candidate> candidates{{.guess = 100.0, .cost = 1.0, .kind = 0},
                                          {.guess = 120.0, .cost = 3.0, .kind = 1},
                                          {.guess = 60.0, .cost = 1.0, .kind = 1}};
  const std::vector<double> values{100.0, 240.0, 120.0};
  const Plan plan = search_plan(candidates, [&](std::size_t i) { return values[i]; }, {.top = 3});
  ASSERT_EQ(plan.best.size(), 2U);
  EXPECT_EQ(plan.best.back().candidate, 2U);
}

}  // namespace
}  // namespace outpace::throughput
