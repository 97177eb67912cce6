#include "update/total_momentum.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <deque>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::update {
namespace {

using Numbers = std::vector<float>;

TEST(TotalMomentum, IsThatOfHeavyBallWithoutStaleness) {
  TotalMomentum total(0, 2);
  EXPECT_EQ(total.measure(Numbers{1, -2}, 0.5, Numbers{7, 7}), std::nullopt);
  // move = 0.75 * (1, -2) - 0.5 * (4, 2)
  EXPECT_EQ(total.measure(Numbers{-1.25, -2.5}, 0.5, Numbers{4, 2}), 0.75);
}

TEST(TotalMomentum, LooksBackByTau) {
  TotalMomentum total(2, 1);
  EXPECT_EQ(total.measure(Numbers{8}, 1, Numbers{0}), std::nullopt);   // From version 0 to 1.
  EXPECT_EQ(total.measure(Numbers{3}, 1, Numbers{0}), std::nullopt);   // 1 to 2
  EXPECT_EQ(total.measure(Numbers{50}, 1, Numbers{0}), std::nullopt);  // 2 to 3
  // Version 3 gets the gradient of version 1: (3 + 1) / 8.
  EXPECT_EQ(total.measure(Numbers{60}, 1, Numbers{1}), 0.5);
  EXPECT_EQ(total.measure(Numbers{70}, 1, Numbers{-47}), 1.0);  // (50 - 47) / 3
}

TEST(TotalMomentum, IsTheMedianOfTheWeightsThatMoved) {
  TotalMomentum total(0, 5);
  (void)total.measure(Numbers{1, 1, 0, 1, 0}, 1, Numbers(5));
  EXPECT_EQ(total.measure(Numbers{100, 2, 5, -1, 0}, 1, Numbers(5)), 2.0);
  TotalMomentum still(0, 1);
  (void)still.measure(Numbers{0}, 1, Numbers{0});
  EXPECT_EQ(still.measure(Numbers{1}, 1, Numbers{0}), std::nullopt);
  TotalMomentum huge(0, 1);
  (void)huge.measure(Numbers{1}, 1, Numbers{0});
  EXPECT_EQ(huge.measure(Numbers{1}, 1e300, Numbers{FLT_MAX}), std::nullopt);
}

TEST(TotalMomentum, MeasuresLikeAPlainImplementation) {
  constexpr std::uint64_t kSeed = 20160929;
  Rng rng(kSeed, 0);
  for (const std::uint32_t tau : {0U, 1U, 5U}) {
    TotalMomentum total(tau, 7);
    std::deque<Numbers> moves;
    for (int t = 0; t < 1000; ++t) {
      Numbers move(7);
      Numbers gradient(7);
      for (std::size_t i = 0; i < 7; ++i) {
        move[i] = static_cast<float>(rng.normal());
        gradient[i] = static_cast<float>(rng.normal());
      }
      moves.push_front(move);
      const std::optional<double> found = total.measure(move, 0.5, gradient);
      ASSERT_EQ(found.has_value(), moves.size() >= tau + 2);
      if (found) {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < 7; ++i) {
          ratios.push_back((double{moves[tau][i]} + 0.5 * double{gradient[i]}) /
                           double{moves[tau + 1][i]});
        }
        std::sort(ratios.begin(), ratios.end());
        // Two roundings, of a sum whose parts may be greater than it.
        ASSERT_NEAR(*found, ratios[3], 1e-5 * (1.0 + std::abs(ratios[3])))
            << "tau " << tau << ", step " << t << ", seed " << kSeed;
      }
    }
  }
}

}  // namespace
}  // namespace outpace::update
