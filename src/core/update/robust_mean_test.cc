#include "update/robust_mean.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::update {
namespace {

using Rows = std::vector<std::vector<float>>;

std::vector<std::span<const float>> spans(const Rows& rows) {
  return {rows.begin(), rows.end()};
}

std::vector<float> robust(const std::string& rule, const Rows& rows) {
  std::vector<float> into(rows[0].size());
  robust_mean(FilterRule::parse(Spec::parse(rule)), spans(rows), into);
  return into;
}

Rows random_rows(Rng& rng, std::size_t count, std::size_t size) {
  Rows rows(count, std::vector<float>(size));
  for (std::vector<float>& row : rows) {
    for (float& value : row) {
      value = static_cast<float>(rng.normal());
    }
  }
  return rows;
}

TEST(RobustMean, OfNumbersByHand) {
  const Rows rows{{5, -1}, {1, 0}, {2, 7}, {100, 1}, {3, 2}};
  EXPECT_EQ(robust("median", rows), (std::vector<float>{3, 1}));
  EXPECT_EQ(robust("trimmed:f=2", rows), (std::vector<float>{3, 1}));
  const std::vector<float> trimmed = robust("trimmed:f=1", rows);
  EXPECT_FLOAT_EQ(trimmed[0], 10.0F / 3);  // 2, 3, 5.
  EXPECT_FLOAT_EQ(trimmed[1], 1.0F);       // 0, 1, 2.
}

TEST(RobustMean, MedianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(robust("median", {{1}, {8}, {2}, {4}}), (std::vector<float>{3}));
  const Rows greatest(4, {FLT_MAX});
  EXPECT_EQ(robust("median", greatest), (std::vector<float>{FLT_MAX}));
}

// f = 0 within krum: s counts n - 2 neighbours.
TEST(RobustMean, KrumIsTheGradientInTheCrowd) {
  const Rows rows{{0}, {1}, {1.5F}, {2.25F}, {40}};
  // f = 1: s counts the two nearest. For 0: 1 + 2.25; 1: .25 + 1; 1.5: .25 + .5625; 2.25: .5625 +
  // 1.5625.
  EXPECT_EQ(krum_choice(spans(rows), 1, 2), (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(robust("krum:f=1", rows), (std::vector<float>{1.5F}));
  EXPECT_EQ(robust("krum:f=1,m=2", rows), (std::vector<float>{1.25F}));
}

TEST(RobustMean, IsNothingWhereHalfMayBeWrong) {
  EXPECT_EQ(robust("trimmed:f=2", {{1}, {9}, {2}, {4}}), (std::vector<float>{0}));
  EXPECT_EQ(robust("trimmed:f=2", {{1}, {9}, {2}, {4}, {8}}), (std::vector<float>{4}));
  EXPECT_EQ(robust("krum:f=1", {{7}, {9}}), (std::vector<float>{0}));
  EXPECT_EQ(robust("median", {{7}}), (std::vector<float>{0}));
  EXPECT_EQ(robust("median", {{7}, {9}}), (std::vector<float>{0}));
}

// With f = 1 of five: the two nearest count.
TEST(RobustMean, KrumOfFewerThanItTakesIsThatOfTheGreatestFTheyAllow) {
  EXPECT_EQ(robust("krum:f=2", {{0}, {1}, {1.5F}, {2.25F}, {40}}), (std::vector<float>{1.5F}));
}

TEST(RobustMean, IsTheSameInEveryOrder) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed, 1);
    // With three rows, the two that are nearest to each other are equals to krum.
    Rows rows = random_rows(rng, 4 + rng.below(8), 1 + rng.below(3000));
    for (const char* rule : {"median", "trimmed:f=2", "krum:f=2"}) {
      const std::vector<float> found = robust(rule, rows);
      for (std::size_t i = rows.size() - 1; i > 0; --i) {
        std::swap(rows[i], rows[rng.below(i + 1)]);
      }
      EXPECT_EQ(robust(rule, rows), found) << rule << ", seed " << seed;
    }
  }
}

// What f liars send leaves each number within what the others sent.
TEST(RobustMean, StaysWithinTheHonestRange) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed, 2);
    constexpr std::size_t kHonest = 6;
    Rows rows = random_rows(rng, kHonest, 100);
    for (int liar = 0; liar < 2; ++liar) {
      const float size = rng.uniform() < 0.5 ? FLT_MAX : 1e6F;
      rows.emplace_back(100);
      for (float& value : rows.back()) {
        value = rng.uniform() < 0.5 ? size : -size;
      }
    }
    for (const char* rule : {"median", "trimmed:f=2", "krum:f=2"}) {
      const std::vector<float> found = robust(rule, rows);
      for (std::size_t i = 0; i < 100; ++i) {
        std::vector<float> honest;
        for (std::size_t k = 0; k < kHonest; ++k) {
          honest.push_back(rows[k][i]);
        }
        const auto [least, greatest] = std::ranges::minmax(honest);
        EXPECT_GE(found[i], least) << rule << ", seed " << seed;
        EXPECT_LE(found[i], greatest) << rule << ", seed " << seed;
      }
    }
  }
}

// The definitions, one number at a time.
std::vector<float> plain_trimmed(const Rows& rows, std::size_t f) {
  std::vector<float> mean;
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    std::multiset<double> values;
    for (const std::vector<float>& row : rows) {
      values.insert(static_cast<double>(row[i]));
    }
    for (std::size_t k = 0; k < f; ++k) {
      values.erase(values.begin());
      values.erase(std::prev(values.end()));
    }
    double sum = 0.0;
    for (const double value : values) {
      sum += value;
    }
    mean.push_back(static_cast<float>(sum / static_cast<double>(values.size())));
  }
  return mean;
}

// Blanchard et al.: score every gradient against all subsets' best, that is the nearest ones.
std::size_t plain_krum(const Rows& rows, std::size_t f) {
  std::size_t best = 0;
  double best_score = INFINITY;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::multiset<double> distances;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < rows[0].size(); ++k) {
        sum += std::pow(static_cast<double>(rows[i][k]) - static_cast<double>(rows[j][k]), 2);
      }
      if (i != j) {
        distances.insert(sum);
      }
    }
    double score = 0.0;
    auto next = distances.begin();
    for (std::size_t k = 0; k < rows.size() - f - 2; ++k) {
      score += *next++;
    }
    if (score < best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

TEST(RobustMean, IsThatOfItsTwins) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed, 3);
    const std::size_t f = 1 + rng.below(3);
    const Rows rows = random_rows(rng, 2 * f + 3 + rng.below(6), 1 + rng.below(2500));
    const std::string with_f = ":f=" + std::to_string(f);
    EXPECT_EQ(robust("krum" + with_f, rows), rows[plain_krum(rows, f)]) << "seed " << seed;
    for (const auto& [found, expected] :
         {std::pair(robust("trimmed" + with_f, rows), plain_trimmed(rows, f)),
          std::pair(robust("median", rows), plain_trimmed(rows, (rows.size() - 1) / 2))}) {
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], expected[i], 1e-5) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace outpace::update
