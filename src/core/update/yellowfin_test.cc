#include "update/yellowfin.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "update/optimizer_twin.h"

namespace outpace::update {
namespace {

using Numbers = std::vector<float>;

// The move that a gradient makes.
Numbers moved(YellowFin& yellowfin, const Numbers& gradient) {
  Numbers weights(gradient.size());
  yellowfin.step(kUnit, gradient, weights);
  return weights;
}

// The momentum of the next step: without a gradient, it is all that remains of the last move.
double momentum(YellowFin copy, const Numbers& last_move) {
  return double{moved(copy, Numbers(last_move.size()))[0]} / double{last_move[0]};
}

TEST(YellowFin, BeginsSlowlyAlongTheFirstGradient) {
  YellowFin yellowfin({}, 2);
  Numbers weights{1, 1};
  yellowfin.step(kUnit, Numbers{3, 4}, weights);
  // h = 25 and no variance: mu = 0, alpha = 1 / 25; and the first of 10 * 20 steps of warm-up.
  EXPECT_NEAR(weights[0], 1.0 - 3.0 / 25.0 / 200.0, 1e-7);
  EXPECT_NEAR(weights[1], 1.0 - 4.0 / 25.0 / 200.0, 1e-7);
  EXPECT_EQ(momentum(yellowfin, {3, 4}), 0.0);
}

TEST(YellowFin, ScalesTheStepByRateAndMeanWeight) {
  YellowFin yellowfin({.window = 1}, 1);
  Numbers weights{0};
  yellowfin.step({.rate = 0.5, .mean_weight = 0.25, .weight_decay = 0}, Numbers{4}, weights);
  EXPECT_NEAR(weights[0], -0.125 * 0.1 / 4.0, 1e-9);  // 1 / (10 * 1) of 4 / 16
}

TEST(YellowFin, HasTheDecayInTheGradient) {
  YellowFin decayed({.window = 1}, 1);
  YellowFin plain({.window = 1}, 1);
  Numbers a{2};
  Numbers b{2};
  decayed.step({.rate = 1, .mean_weight = 1, .weight_decay = 0.5}, Numbers{3}, a);
  plain.step(kUnit, Numbers{4}, b);
  EXPECT_EQ(a, b);
}

// Zhang & Mitliagkas 2019: gradients whose squared norms go from 1 to 81, as curvatures would, get
// at least Polyak's momentum for that range.
TEST(YellowFin, TakesAtLeastTheMomentumOfTheCurvaturesRange) {
  YellowFin yellowfin({.beta = 0.9, .window = 2}, 1);
  Numbers move;
  for (int t = 0; t < 500; ++t) {
    move = moved(yellowfin, {t % 2 == 0 ? 1.0F : 9.0F});
  }
  EXPECT_GE(momentum(yellowfin, move), 0.64 - 1e-6);  // ((9 - 1) / (9 + 1))^2
}

TEST(YellowFin, LearnsNothingFromAGradientOfZero) {
  YellowFin yellowfin({}, 2);
  Numbers weights{1, 2};
  yellowfin.step(kUnit, Numbers{0, 0}, weights);
  EXPECT_EQ(weights, (Numbers{1, 2}));
  YellowFin other({}, 2);
  Numbers others{1, 2};
  yellowfin.step(kUnit, Numbers{3, 4}, weights);
  other.step(kUnit, Numbers{3, 4}, others);
  EXPECT_EQ(weights, others);
}

TEST(YellowFin, StaysFinite) {
  for (const double gamma : {0.0, 0.01}) {
    YellowFin yellowfin({.gamma = gamma}, 2);
    Numbers weights{1, 1};
    for (const float scale : {1.0F, 1e12F, 1e-12F, FLT_MIN, 0.0F, 1.0F}) {
      yellowfin.step(kUnit, Numbers{scale, -scale}, weights);
      EXPECT_TRUE(std::isfinite(weights[0]) && std::isfinite(weights[1])) << scale;
    }
  }
}

// All of the algorithm once more, in double and with everything remembered.
struct PlainYellowFin {
  double beta;
  std::size_t window;
  double gamma;
  std::size_t tau;
  std::vector<std::vector<double>> gradients{};
  std::vector<double> squares{};  // The squared norms of the gradients.
  std::vector<double> log_least{};
  std::vector<double> log_greatest{};
  std::vector<double> ratios_of_means{};
  std::deque<std::vector<double>> moves{};
  double mu = 0.0;

  // The mean of f(k) over the past gradients, the newest with weight 1 - beta, the one before with
  // (1 - beta) beta, and so on, over the sum of these weights.
  template <typename F>
  [[nodiscard]] double mean(F f) const {
    double sum = 0.0;
    double weights = 0.0;
    double weight = 1.0 - beta;
    for (std::size_t k = gradients.size(); k-- > 0 && weight > 1e-18;) {
      sum += weight * f(k);
      weights += weight;
      weight *= beta;
    }
    return sum / weights;
  }
  void remember(const std::vector<double>& g) {
    gradients.push_back(g);
    double square = 0.0;
    for (const double number : g) {
      square += number * number;
    }
    squares.push_back(square);
    const auto recent =
        squares.end() - static_cast<std::ptrdiff_t>(std::min(window, squares.size()));
    log_least.push_back(std::log(*std::min_element(recent, squares.end())));
    log_greatest.push_back(std::log(*std::max_element(recent, squares.end())));
    ratios_of_means.push_back(mean([&](std::size_t k) { return std::sqrt(squares[k]); }) /
                              mean([&](std::size_t k) { return squares[k]; }));
  }
  [[nodiscard]] Tuned tune() const {
    double variance = mean([&](std::size_t k) { return squares[k]; });
    for (std::size_t i = 0; i < gradients[0].size(); ++i) {
      const double of_one = mean([&](std::size_t k) { return gradients[k][i]; });
      variance -= of_one * of_one;
    }
    return single_step({.h_min = std::exp(mean([&](std::size_t k) { return log_least[k]; })),
                        .h_max = std::exp(mean([&](std::size_t k) { return log_greatest[k]; })),
                        .variance = variance,
                        .distance = mean([&](std::size_t k) { return ratios_of_means[k]; })});
  }
  void step(const Step& step, const Numbers& mean_gradient, std::vector<double>& weights) {
    std::vector<double> g;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      g.push_back(double{mean_gradient[i]} + step.weight_decay * weights[i]);
    }
    remember(g);
    const Tuned tuned = tune();
    if (gamma == 0.0) {
      mu = tuned.mu;
    }
    const double warm =
        std::min(1.0, static_cast<double>(gradients.size()) / (10.0 * static_cast<double>(window)));
    const double alpha = step.rate * step.mean_weight * warm * tuned.alpha;
    std::vector<double> move(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      move[i] = (moves.empty() ? 0.0 : mu * moves[0][i]) - alpha * g[i];
      weights[i] += move[i];
    }
    moves.push_front(move);
    if (gamma > 0.0 && moves.size() >= tau + 2) {
      std::vector<double> ratios;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        ratios.push_back((moves[tau][i] + alpha * g[i]) / moves[tau + 1][i]);
      }
      std::sort(ratios.begin(), ratios.end());
      mu += gamma * (tuned.mu - ratios[ratios.size() / 2]);
      mu = std::clamp(mu, -0.999999, 0.999999);
    }
  }
};

void expect_walks_like_the_plain_one(const YellowFinOptions& options) {
  constexpr std::uint64_t kSeed = 20170612;
  constexpr std::size_t kSize = 13;
  Rng rng(kSeed, 0);
  YellowFin yellowfin(options, kSize);
  PlainYellowFin plain{
      .beta = options.beta, .window = options.window, .gamma = options.gamma, .tau = options.tau};
  Numbers weights(kSize, 1.0F);
  std::vector<double> expected(kSize, 1.0);
  for (int t = 0; t < 1000; ++t) {
    const Step step{.rate = rng.uniform(), .mean_weight = rng.uniform(), .weight_decay = 0.01};
    Numbers gradient(kSize);
    for (float& number : gradient) {
      number = static_cast<float>(rng.normal() + 0.1);
    }
    yellowfin.step(step, gradient, weights);
    plain.step(step, gradient, expected);
    for (std::size_t i = 0; i < kSize; ++i) {
      ASSERT_NEAR(weights[i], expected[i], 2e-5)
          << "step " << t << ", weight " << i << ", seed " << kSeed;
    }
  }
}

TEST(YellowFin, WalksLikeAPlainImplementation) {
  expect_walks_like_the_plain_one({.beta = 0.95, .window = 5});
}

TEST(YellowFin, WalksLikeAPlainImplementationInItsClosedLoop) {
  expect_walks_like_the_plain_one({.beta = 0.95, .window = 5, .gamma = 0.01, .tau = 3});
}

// Section 4 of the paper: asynchrony adds momentum, and the loop takes it off. Gradients of a noisy
// quadratic are 7 versions old, as with 8 workers in turn.
TEST(YellowFin, BringsTheTotalMomentumToItsTargetWhenGradientsAreStale) {
  constexpr std::uint64_t kSeed = 20160524;
  constexpr std::size_t kSize = 101;
  constexpr std::size_t kTau = 7;
  constexpr int kSteps = 4000;
  constexpr double kGamma = 0.01;
  Rng rng(kSeed, 0);
  YellowFin closed({.gamma = kGamma, .tau = kTau}, kSize);
  YellowFin open({}, kSize);  // Sees the same gradients: its momentum is the closed one's target.
  std::deque<Numbers> versions{Numbers(kSize, 1.0F)};
  std::deque<Numbers> moves;
  double applied = 0.0;
  double total = 0.0;
  double target = 0.0;
  for (int t = 0; t < kSteps; ++t) {
    const Numbers& of = versions.size() > kTau ? versions[kTau] : versions.back();
    Numbers gradient(kSize);
    for (std::size_t i = 0; i < kSize; ++i) {
      gradient[i] = of[i] + 0.1F * static_cast<float>(rng.normal());
    }
    const double mu = moves.empty() ? 0.0 : momentum(closed, moves[0]);
    const Numbers move = moved(closed, gradient);
    const double before = moves.empty() ? 0.0 : double{moves[0][0]};
    const double alpha = (mu * before - double{move[0]}) / double{gradient[0]};
    moves.push_front(move);
    Numbers next = versions[0];
    for (std::size_t i = 0; i < kSize; ++i) {
      next[i] += move[i];
    }
    versions.push_front(next);
    const Numbers plain = moved(open, gradient);
    if (moves.size() >= kTau + 2) {
      std::vector<double> ratios;
      for (std::size_t i = 0; i < kSize; ++i) {
        ratios.push_back((double{moves[kTau][i]} + alpha * double{gradient[i]}) /
                         double{moves[kTau + 1][i]});
      }
      std::nth_element(ratios.begin(), ratios.begin() + kSize / 2, ratios.end());
      applied += mu;
      total += ratios[kSize / 2];
      target += momentum(open, plain);
    }
  }
  // What the loop adds up is the difference: it has moved mu by no more than 1.
  EXPECT_NEAR(total / kSteps, target / kSteps, 1.0 / (kGamma * kSteps));
  EXPECT_LT(applied / kSteps, target / kSteps - 0.1);
}

}  // namespace
}  // namespace outpace::update
