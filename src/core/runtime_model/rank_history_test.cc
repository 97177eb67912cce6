#include "runtime_model/rank_history.h"

#include <cmath>

#include <gtest/gtest.h>

#include "runtime_model/draws.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

// Four workers of which a second each is forecast; two and two share a machine.
class RanksOfFour : public ::testing::Test {
 protected:
  RanksOfFour() {
    forecast_.reset(TimeGrid(0.01, 0.0125, 720), 4);
    forecast_.set_lognormal_rows(std::vector<double>(4, 1.0), 0.5);
  }
  void live(int iterations) {
    for (int i = 0; i < iterations; ++i) {
      const double one = std::exp(0.5 * rng_.normal());
      const double other = std::exp(0.5 * rng_.normal());
      history_.observe(forecast_, arrived({one, one, other, other}));
    }
  }

  Rng rng_{1, 0};
  Forecast forecast_;
  RankHistory history_;
};

TEST_F(RanksOfFour, AreNoneAtFirst) {
  live(31);
  EXPECT_TRUE(history_.ranks().empty());
  live(1);
  EXPECT_EQ(history_.ranks().size(), 32U * 4U);
  live(10'000);
  EXPECT_EQ(history_.ranks().size(), 2U * draws_for(4) * 4U);
}

TEST_F(RanksOfFour, WhatWentTogetherDoesInTheDraws) {
  live(600);
  forecast_.set_ranks(history_.ranks());
  const std::vector<std::uint32_t> machine{0, 1};
  const std::vector<std::uint32_t> strangers{1, 2};
  const auto apart = [&](const std::vector<std::uint32_t>& workers) {
    Draws draws;
    draws.draw(forecast_, workers, 64, 1);
    double sum = 0.0;
    for (std::uint32_t k = 0; k < draws.count(); ++k) {
      sum += std::log(draws.sorted(k)[1] / draws.sorted(k)[0]);
    }
    return sum / draws.count();
  };
  EXPECT_LT(apart(machine), 0.02);
  // E|N - N'| is 2 sigma / sqrt(pi).
  EXPECT_NEAR(apart(strangers), 2.0 * 0.5 / std::sqrt(3.14159), 0.06);
}

TEST_F(RanksOfFour, OfWhoWasCutOffAreAboveWhatItWasGiven) {
  std::vector<Observation> seen = arrived({0.5, 0.7});
  seen.resize(4, {.seconds = 1.0, .fate = Fate::kLonger});
  for (int i = 0; i < 100; ++i) {
    history_.observe(forecast_, seen);
  }
  const std::span<const float> ranks = history_.ranks();
  for (std::size_t i = 0; i < ranks.size(); i += 4) {
    EXPECT_LT(ranks[i + 1], 0.5F);
    EXPECT_GE(ranks[i + 2], 0.48F);
    EXPECT_LT(ranks[i + 3], 1.0F);
  }
}

}  // namespace
}  // namespace outpace::runtime_model
