// For tests only: applies a correction, and compares it with a plain second implementation over a
// random sequence of releases and gradients.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "update/correction.h"

namespace outpace::update {

using Numbers = std::vector<float>;

inline StalenessRule rule(const std::string& spec) {
  return StalenessRule::parse(Spec::parse(spec));
}

inline SharedWeights shared(const Numbers& weights) {
  return std::make_shared<const Numbers>(weights);
}

// A gradient of `examples` examples, corrected.
inline Numbers corrected(Correction& correction,
                         std::uint32_t worker,
                         Numbers gradient,
                         const Numbers& weights,
                         std::uint32_t examples = 1) {
  correction.correct({.worker = WorkerId{worker}, .examples = examples}, gradient, weights);
  return gradient;
}

// A second implementation for one weight and all workers. `correct` returns the corrected gradient.
struct PlainCorrection {
  std::function<double(std::uint32_t worker, double gradient, double weight, double then)> correct;
  std::function<void(double before, double after)> stepped;
};

// 1,000 gradients of four random workers, some of them dropped; after each, the weights move.
// `rounding`: how far a float32 result may be from the twin's double, relative to its size.
inline void expect_corrects_like(const StalenessRule& rule,
                                 const std::function<PlainCorrection()>& make_twin,
                                 double rounding) {
  constexpr std::size_t kSize = 13;  // Not a multiple of any vector's length.
  constexpr std::uint64_t kSeed = 20170806;
  Rng rng(kSeed, 0);
  const auto normal = [&rng] { return static_cast<float>(rng.normal()); };
  const std::unique_ptr<Correction> correction = make_correction(rule, kSize);
  std::vector<PlainCorrection> twins;
  Numbers weights(kSize);
  for (float& weight : weights) {
    twins.push_back(make_twin());
    weight = normal();
  }
  std::map<std::uint32_t, Numbers> then;
  for (int t = 0; t < 1000; ++t) {
    const auto worker = static_cast<std::uint32_t>(rng.below(4));
    if (then.contains(worker) && rng.uniform() >= 0.1) {
      Numbers gradient(kSize);
      std::vector<double> expected;
      for (std::size_t i = 0; i < kSize; ++i) {
        gradient[i] = normal();
        expected.push_back(twins[i].correct(worker,
                                            static_cast<double>(gradient[i]),
                                            static_cast<double>(weights[i]),
                                            static_cast<double>(then[worker][i])));
      }
      const Numbers found = corrected(*correction, worker, gradient, weights);
      for (std::size_t i = 0; i < kSize; ++i) {
        const double size = std::max(std::abs(expected[i]), std::abs(double{gradient[i]}));
        ASSERT_NEAR(static_cast<double>(found[i]), expected[i], rounding * size)
            << "gradient " << t << ", number " << i << ", seed " << kSeed;
      }
      const Numbers before = weights;
      for (std::size_t i = 0; i < kSize; ++i) {
        weights[i] -= 0.01F * found[i];
        twins[i].stepped(static_cast<double>(before[i]), static_cast<double>(weights[i]));
      }
      correction->stepped(before, weights);
    }
    correction->released(WorkerId{worker}, shared(weights));
    then[worker] = weights;
  }
}

}  // namespace outpace::update
