#include "runtime_model/elfving.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

TEST(Elfving, AllWorkersHaveTheMomentsOfTheLastIteration) {
  Elfving model(ElfvingFit::kCensored);
  Forecast forecast;
  EXPECT_FALSE(model.forecast(forecast));
  model.observe(arrived({9.0, 9.0, 9.0, 9.0, 9.0}));
  model.observe(arrived({1.0, 1.2, 0.8, 1.1, 0.9}));  // Mean 1, standard deviation 0.158.
  ASSERT_TRUE(model.forecast(forecast));
  const double sigma = std::sqrt(0.025);
  for (const std::uint32_t w : {0U, 4U}) {
    EXPECT_NEAR(forecast.quantile(w, 0.5), 1.0, 0.01);
    EXPECT_NEAR(forecast.quantile(w, 0.841345), 1.0 + sigma, 0.02);
  }
}

TEST(Elfving, ALateTimeReplacesThatOfTheCutoff) {
  Elfving model(ElfvingFit::kTruncated);
  Forecast forecast;
  model.observe(std::vector<Observation>{{.seconds = 1.0, .fate = Fate::kArrived},
                                         {.seconds = 1.0, .fate = Fate::kLonger}});
  ASSERT_TRUE(model.forecast(forecast));
  EXPECT_NEAR(forecast.quantile(0, 0.99), 1.0, 0.02);
  model.correct(1, 3.0);
  ASSERT_TRUE(model.forecast(forecast));
  EXPECT_NEAR(forecast.quantile(0, 0.5), 2.0, 0.03);
}

// 20,000 workers of N(1, 0.2^2), cut off at 1.1: 31 % are not there.
std::vector<Observation> cut_at_eleven_tenths() {
  Rng rng(1, 0);
  std::vector<Observation> seen;
  for (int i = 0; i < 20'000; ++i) {
    const double seconds = 1.0 + 0.2 * rng.normal();
    seen.push_back({.seconds = std::min(seconds, 1.1),
                    .fate = seconds <= 1.1 ? Fate::kArrived : Fate::kLonger});
  }
  return seen;
}

TEST(ElfvingMoments, OfACensoredSampleAreThoseOfAllWorkers) {
  const Alike found = elfving_moments(cut_at_eleven_tenths(), ElfvingFit::kCensored);
  EXPECT_NEAR(found.mean, 1.0, 0.006);  // A standard error of 0.0015.
  EXPECT_NEAR(found.sigma, 0.2, 0.006);
}

TEST(ElfvingMoments, OfATruncatedSampleAreThoseOfAllWorkersLessSurely) {
  const Alike found = elfving_moments(cut_at_eleven_tenths(), ElfvingFit::kTruncated);
  EXPECT_NEAR(found.mean, 1.0, 0.03);
  EXPECT_NEAR(found.sigma, 0.2, 0.015);
}

// Nobody that the normal expects: the moments are those of who arrived, and its sigma has one
// degree of freedom less than they are many.
TEST(ElfvingMoments, OfATruncatedSampleHaveItsDegreesOfFreedom) {
  std::vector<Observation> seen = arrived({0.8, 0.9, 1.0, 1.1, 1.2});
  seen.push_back({.seconds = 100.0, .fate = Fate::kLonger});
  const Alike found = elfving_moments(seen, ElfvingFit::kTruncated);
  EXPECT_NEAR(found.mean, 1.0, 1e-9);
  EXPECT_NEAR(found.sigma, std::sqrt(0.1 / 4.0), 1e-6);
}

TEST(ElfvingMoments, AreFiniteIfNearlyAllWereCutOff) {
  for (const Fate first : {Fate::kArrived, Fate::kLonger}) {
    std::vector<Observation> seen(8, {.seconds = 1.0, .fate = Fate::kLonger});
    seen[0].fate = first;
    for (const ElfvingFit fit : {ElfvingFit::kCensored, ElfvingFit::kTruncated}) {
      const Alike found = elfving_moments(seen, fit);
      EXPECT_TRUE(std::isfinite(found.mean) && found.sigma > 0.0);
    }
  }
}

}  // namespace
}  // namespace outpace::runtime_model
