// For tests only: compares an optimizer with a plain second implementation of its equation, one
// weight at a time in double, over 1,000 random steps.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "update/optimizer.h"

namespace outpace::update {

inline constexpr Step kUnit{.rate = 1, .mean_weight = 1, .weight_decay = 0};

// Returns the new weight; holds the state of one weight.
using Twin = std::function<double(const Step& step, double gradient, double weight)>;

inline void expect_walks_like(const std::string& spec, const std::function<Twin()>& make_twin) {
  constexpr std::size_t kSize = 13;  // Not a multiple of any vector's length.
  constexpr std::uint64_t kSeed = 20160709;
  Rng rng(kSeed, 0);
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(Spec::parse(spec), kSize);
  std::vector<Twin> twins;
  std::vector<double> expected;
  std::vector<float> weights;
  for (std::size_t i = 0; i < kSize; ++i) {
    twins.push_back(make_twin());
    weights.push_back(static_cast<float>(rng.normal()));
    expected.push_back(static_cast<double>(weights.back()));
  }
  std::vector<float> mean(kSize);
  for (int t = 0; t < 1000; ++t) {
    const Step step{.rate = 0.02 * rng.uniform(),
                    .mean_weight = rng.uniform(),
                    .weight_decay = 0.1 * rng.uniform()};
    for (std::size_t i = 0; i < kSize; ++i) {
      mean[i] = static_cast<float>(rng.normal() + 0.1);
      expected[i] = twins[i](step, static_cast<double>(mean[i]), expected[i]);
    }
    optimizer->step(step, mean, weights);
    for (std::size_t i = 0; i < kSize; ++i) {
      ASSERT_NEAR(static_cast<double>(weights[i]), expected[i], 2e-5)
          << spec << ", step " << t << ", weight " << i << ", seed " << kSeed;
    }
  }
}

// One step of one weight.
inline float stepped(Optimizer& optimizer, const Step& step, float gradient, float weight) {
  optimizer.step(step, {&gradient, 1}, {&weight, 1});
  return weight;
}

}  // namespace outpace::update
