#include "update/lamb.h"

#include <cfloat>
#include <cmath>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "update/optimizer_twin_test.h"

namespace outpace::update {
namespace {

using Numbers = std::vector<float>;

constexpr LambOptions kLambOptions{.beta1 = 0.5, .beta2 = 0.75, .epsilon = 1e-12};

Numbers all_stepped(Lamb& lamb, const Step& step, const Numbers& gradient, Numbers weights) {
  lamb.step(step, gradient, weights);
  return weights;
}

double norm(const Numbers& numbers) {
  double sum = 0.0;
  for (const float number : numbers) {
    sum += double{number} * double{number};
  }
  return std::sqrt(sum);
}

// You et al. 2020, algorithm 2: whatever the gradient, a tensor moves by rate * |w|.
TEST(Lamb, MovesEachTensorByTheRatesShareOfItsWeights) {
  Lamb lamb({}, {2, 3});
  const Step step{.rate = 0.01, .mean_weight = 1, .weight_decay = 0};
  Numbers weights{3, 4, 0, 0, 2};
  for (const float scale : {1.0F, 1e6F, 1e-3F}) {
    const Numbers before = weights;
    weights = all_stepped(lamb, step, {scale, -2 * scale, scale, 5 * scale, -scale}, weights);
    const auto moved = [&](std::size_t i) { return double{weights[i]} - double{before[i]}; };
    EXPECT_NEAR(std::hypot(moved(0), moved(1)), 0.01 * std::hypot(before[0], before[1]), 1e-6);
    EXPECT_NEAR(std::hypot(moved(2), moved(3), moved(4)),
                0.01 * std::hypot(before[2], before[3], before[4]),
                1e-6);
  }
}

TEST(Lamb, HasAdamsDirectionWithoutTheMomentsBias) {
  Lamb lamb(kLambOptions, {2});
  // At first m / sqrt(v) is the gradient's sign, of norm sqrt(2); |w| = 5.
  const Numbers found = all_stepped(lamb, kUnit, {3, -100}, {3, 4});
  EXPECT_NEAR(found[0], 3.0 - 5.0 / std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(found[1], 4.0 + 5.0 / std::sqrt(2.0), 1e-6);
}

TEST(Lamb, ScalesTheStepByTheMeanWeight) {
  Lamb lamb(kLambOptions, {1});
  const Step quarter{.rate = 1, .mean_weight = 0.25, .weight_decay = 0};
  EXPECT_NEAR(all_stepped(lamb, quarter, {3}, {8})[0], 6.0, 1e-6);
}

TEST(Lamb, HasTheDecayInTheStepThatIsScaled) {
  // u = 1 + 0.5 * 2 = 2 and 0 + 0.5 * 4 = 2; |w| / |u| = sqrt(20) / sqrt(8)
  Lamb lamb(kLambOptions, {2});
  const Step decaying{.rate = 0.1, .mean_weight = 1, .weight_decay = 0.5};
  const Numbers found = all_stepped(lamb, decaying, {7, 0}, {2, 4});
  const double move = 0.1 * std::sqrt(20.0 / 8.0) * 2.0;
  EXPECT_NEAR(found[0], 2.0 - move, 1e-6);
  EXPECT_NEAR(found[1], 4.0 - move, 1e-6);
}

TEST(Lamb, MovesATensorOfZerosByAdamsStep) {
  Lamb lamb(kLambOptions, {1, 1});
  EXPECT_NEAR(all_stepped(lamb, kUnit, {3, 3}, {0, 5})[0], -1.0, 1e-6);
}

TEST(Lamb, StandsStillWithoutAGradient) {
  Lamb lamb(kLambOptions, {2});
  EXPECT_EQ(all_stepped(lamb, kUnit, {0, 0}, {1, -2}), (Numbers{1, -2}));
}

TEST(Lamb, StaysFinite) {
  Lamb lamb({}, {2});
  Numbers weights{1, 1};
  lamb.step(kUnit, Numbers{FLT_MAX, FLT_MIN}, weights);
  const Step small{.rate = 0.01, .mean_weight = 1, .weight_decay = 0};
  for (int t = 0; t < 2000; ++t) {  // Until the moments have vanished.
    lamb.step(small, Numbers{0, 0}, weights);
    ASSERT_TRUE(std::isfinite(weights[0]) && std::isfinite(weights[1])) << "step " << t;
  }
}

// The algorithm as it is printed, one tensor after the other.
TEST(Lamb, WalksLikeAPlainImplementation) {
  constexpr std::uint64_t kSeed = 20200426;
  Rng rng(kSeed, 0);
  const std::vector<std::vector<std::size_t>> tensors{{0, 1, 2, 3, 4, 5, 6}, {7}, {8, 9, 10}};
  Lamb lamb({.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-6}, {7, 1, 3});
  Numbers weights(11);
  std::vector<double> expected(11);
  std::vector<double> m(11);
  std::vector<double> v(11);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(rng.normal());
    expected[i] = double{weights[i]};
  }
  for (int t = 1; t <= 1000; ++t) {
    const Step step{.rate = 0.02 * rng.uniform(),
                    .mean_weight = rng.uniform(),
                    .weight_decay = 0.1 * rng.uniform()};
    Numbers gradient(weights.size());
    for (float& number : gradient) {
      number = static_cast<float>(rng.normal());
    }
    for (const std::vector<std::size_t>& tensor : tensors) {
      Numbers of_weights;
      std::vector<double> u;
      double squares_of_weights = 0.0;
      double squares_of_steps = 0.0;
      for (const std::size_t i : tensor) {
        const double g = double{gradient[i]};
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.99 * v[i] + 0.01 * g * g;
        const double r =
            m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / (1 - std::pow(0.99, t))) + 1e-6);
        u.push_back(r + step.weight_decay * expected[i]);
        squares_of_weights += expected[i] * expected[i];
        squares_of_steps += u.back() * u.back();
      }
      const double ratio = std::sqrt(squares_of_weights / squares_of_steps);
      for (std::size_t k = 0; k < tensor.size(); ++k) {
        expected[tensor[k]] -= step.rate * step.mean_weight * ratio * u[k];
      }
    }
    lamb.step(step, gradient, weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      // 1,000 steps, each rounded in float32 relative to the tensor's weights.
      ASSERT_NEAR(weights[i], expected[i], 1000 * FLT_EPSILON * (1.0 + norm(weights)))
          << "step " << t << ", weight " << i << ", seed " << kSeed;
    }
  }
}

}  // namespace
}  // namespace outpace::update
