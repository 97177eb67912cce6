#include "update/aggregate.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "base/permutation.h"
#include "base/rng.h"
#include "base/spec.h"
#include "update/staleness.h"

namespace outpace::update {
namespace {

using Accepted = Aggregate::Accepted;
using Gradient = std::vector<float>;

constexpr Reduce kBoth[] = {Reduce::kWorkerOrder, Reduce::kArrival};

Accepted from(std::uint32_t worker, double weight, std::uint32_t examples) {
  return {.worker = WorkerId{worker},
          .release = Sequence{worker + 100},
          .weight = weight,
          .examples = examples};
}

Gradient mean_of(Aggregate& aggregate) {
  const std::span<const float> mean = aggregate.mean();
  return {mean.begin(), mean.end()};
}

// What a set of random gradients is made of, in the order of workers.
struct Pushed {
  Accepted accepted;
  Gradient gradient;
};

std::vector<Pushed> random_set(Rng& rng, std::size_t gradients, std::size_t size) {
  std::vector<Pushed> set;
  for (std::size_t k = 0; k < gradients; ++k) {
    Pushed pushed{.accepted = from(static_cast<std::uint32_t>(k / 2),  // A worker may push twice.
                                   rng.uniform(),
                                   1 + static_cast<std::uint32_t>(rng.below(64))),
                  .gradient = Gradient(size)};
    pushed.accepted.release = Sequence{k};
    for (float& value : pushed.gradient) {
      value = static_cast<float>(rng.normal());
    }
    set.push_back(std::move(pushed));
  }
  return set;
}

TEST(Aggregate, OfUnequalMiniBatchesIsThePooledMean) {
  for (const Reduce reduce : kBoth) {
    Aggregate aggregate(1, reduce, true);
    std::ignore = aggregate.add(from(0, 1, 3), {2.0F});  // 1, 2, 3
    std::ignore = aggregate.add(from(1, 1, 5), {6.0F});  // 4, 5, 6, 7, 8
    EXPECT_EQ(mean_of(aggregate), Gradient{4.5F});
    EXPECT_EQ(aggregate.gradients(), 2U);
    EXPECT_EQ(aggregate.examples(), 8U);
    EXPECT_EQ(aggregate.mean_weight(), 1.0);
  }
}

TEST(Aggregate, DividesByTheExamplesAloneNotByTheWeights) {
  for (const Reduce reduce : kBoth) {
    Aggregate aggregate(2, reduce, true);
    // (0.5 * 1 * 8 + 0.25 * 3 * 16) / 4 = 4, mean weight (0.5 * 1 + 0.25 * 3) / 4
    std::ignore = aggregate.add(from(0, 0.5, 1), {8.0F, 0.0F});
    std::ignore = aggregate.add(from(1, 0.25, 3), {16.0F, -16.0F});
    EXPECT_EQ(mean_of(aggregate), (Gradient{4.0F, -3.0F}));
    EXPECT_EQ(aggregate.mean_weight(), 0.3125);
  }
}

TEST(Aggregate, ShrinksALoneStaleGradient) {
  const double weight = StalenessRule::parse(Spec::parse("inverse")).weight(4, {.live = 1});
  for (const Reduce reduce : kBoth) {
    Aggregate aggregate(2, reduce, true);
    std::ignore = aggregate.add(from(3, weight, 7), {4.0F, -8.0F});
    EXPECT_EQ(mean_of(aggregate), (Gradient{1.0F, -2.0F}));
    EXPECT_EQ(aggregate.mean_weight(), 0.25);
  }
}

TEST(Aggregate, LeavesALoneFreshGradientAsItIs) {
  const Gradient gradient{0.1F, -3e38F, 1e-40F};
  for (const Reduce reduce : kBoth) {
    Aggregate aggregate(3, reduce, true);
    std::ignore = aggregate.add(from(3, 1.0, 7), gradient);
    EXPECT_EQ(mean_of(aggregate), gradient);
  }
}

TEST(Aggregate, CountsAGradientOfWeightZeroOnlyByItsExamples) {
  for (const Reduce reduce : kBoth) {
    Aggregate aggregate(1, reduce, true);
    std::ignore = aggregate.add(from(0, 0, 2), {100.0F});
    std::ignore = aggregate.add(from(1, 1, 2), {6.0F});
    EXPECT_EQ(mean_of(aggregate), Gradient{3.0F});
    EXPECT_EQ(aggregate.mean_weight(), 0.5);
  }
}

TEST(Aggregate, IsUnweightedForScaleInvariantOptimizers) {
  for (const Reduce reduce : kBoth) {
    Aggregate aggregate(1, reduce, false);
    std::ignore = aggregate.add(from(0, 0.5, 1), {8.0F});
    std::ignore = aggregate.add(from(1, 0.25, 3), {16.0F});
    EXPECT_EQ(mean_of(aggregate), Gradient{14.0F});  // (8 + 3 * 16) / 4
    EXPECT_EQ(aggregate.mean_weight(), 0.3125);
  }
}

TEST(Aggregate, AgreesWithThePlainEquation) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed, 0);
    const std::size_t size = rng.below(50);
    const std::vector<Pushed> set = random_set(rng, 1 + rng.below(20), size);
    const bool weighted = seed % 2 == 0;
    std::vector<double> sum(size);
    double examples = 0.0;
    for (const Pushed& pushed : set) {
      const double weight = weighted ? pushed.accepted.weight : 1.0;
      examples += pushed.accepted.examples;
      for (std::size_t i = 0; i < size; ++i) {
        sum[i] += weight * pushed.accepted.examples * static_cast<double>(pushed.gradient[i]);
      }
    }
    for (const Reduce reduce : kBoth) {
      Aggregate aggregate(size, reduce, weighted);
      for (const Pushed& pushed : set) {
        std::ignore = aggregate.add(pushed.accepted, pushed.gradient);
      }
      const Gradient mean = mean_of(aggregate);
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_NEAR(mean[i], sum[i] / examples, 1e-6) << "seed " << seed;
      }
    }
  }
}

TEST(Aggregate, InWorkerOrderDoesNotShowTheOrderOfArrival) {
  Rng rng(5, 0);
  const std::vector<Pushed> set = random_set(rng, 11, 10000);  // More than one block.
  std::vector<Gradient> means;
  std::vector<double> weights;
  Aggregate aggregate(10000, Reduce::kWorkerOrder, true);
  for (std::uint64_t shuffle = 0; shuffle < 30; ++shuffle) {
    const Permutation arrival(set.size(), shuffle, 0);
    for (std::uint64_t k = 0; k < set.size(); ++k) {
      const Pushed& pushed = set[arrival(k)];
      std::ignore = aggregate.add(pushed.accepted, pushed.gradient);
    }
    means.push_back(mean_of(aggregate));
    weights.push_back(aggregate.mean_weight());
    aggregate.clear();
    EXPECT_EQ(means.front(), means.back()) << "shuffle " << shuffle;
    EXPECT_EQ(weights.front(), weights.back()) << "shuffle " << shuffle;
  }
}

TEST(Aggregate, MayBeAskedTwiceAndAddedToAfterwards) {
  for (const Reduce reduce : kBoth) {
    Aggregate aggregate(1, reduce, true);
    std::ignore = aggregate.add(from(0, 0.5, 2), {4.0F});
    EXPECT_EQ(mean_of(aggregate), Gradient{2.0F});
    EXPECT_EQ(mean_of(aggregate), Gradient{2.0F});
    std::ignore = aggregate.add(from(1, 1, 6), {8.0F});
    EXPECT_EQ(mean_of(aggregate), Gradient{6.5F});  // (0.5 * 2 * 4 + 6 * 8) / 8
    EXPECT_EQ(mean_of(aggregate), Gradient{6.5F});
    std::ignore = aggregate.add(from(2, 1, 8), {1.5F});
    EXPECT_EQ(mean_of(aggregate), Gradient{4.0F});
  }
}

TEST(Aggregate, ForgetsEverythingWhenCleared) {
  for (const Reduce reduce : kBoth) {
    Aggregate aggregate(1, reduce, true);
    std::ignore = aggregate.add(from(0, 0.25, 2), {400.0F});
    std::ignore = aggregate.mean();
    aggregate.clear();
    EXPECT_EQ(aggregate.gradients(), 0U);
    EXPECT_EQ(aggregate.examples(), 0U);
    std::ignore = aggregate.add(from(1, 1, 3), {6.0F});
    EXPECT_EQ(mean_of(aggregate), Gradient{6.0F});
    EXPECT_EQ(aggregate.mean_weight(), 1.0);
  }
}

TEST(Aggregate, TakesManyOfTheGreatestNumbersInWorkerOrder) {
  Aggregate aggregate(1, Reduce::kWorkerOrder, true);
  for (std::uint32_t worker = 0; worker < 64; ++worker) {
    std::ignore = aggregate.add(from(worker, 1, 128), {3e38F});
  }
  EXPECT_NEAR(mean_of(aggregate)[0], 3e38, 1e33);  // Not infinite: each is divided first.
}

TEST(Aggregate, WantsNoNewMemoryOnceItHasSeenAnUpdate) {
  for (const Reduce reduce : kBoth) {
    Aggregate aggregate(3, reduce, true);
    std::vector<Gradient> spares(4, Gradient(3));
    std::set<const float*> seen;
    for (int update = 0; update < 10; ++update) {
      for (std::uint32_t worker = 0; worker < 4; ++worker) {
        Gradient pushed = std::move(spares.back());
        spares.pop_back();
        seen.insert(pushed.data());
        Gradient freed = aggregate.add(from(worker, 1, 1), std::move(pushed));
        ASSERT_EQ(freed.size(), 3U);
        spares.insert(spares.begin(), std::move(freed));
      }
      std::ignore = aggregate.mean();
      aggregate.clear();
    }
    EXPECT_LE(seen.size(), 8U);  // Four in the slots, four on their way.
  }
}

TEST(Aggregate, OnArrivalGivesBackTheBufferItHasAddedIn) {
  Aggregate aggregate(1, Reduce::kArrival, true);
  std::ignore = aggregate.add(from(0, 1, 1), {1.0F});
  Gradient gradient{2.0F};
  const float* data = gradient.data();
  EXPECT_EQ(aggregate.add(from(1, 1, 1), std::move(gradient)).data(), data);
}

TEST(AggregateDeathTest, WantsGradientsOfItsSizeAndAtLeastOne) {
  Aggregate aggregate(2, Reduce::kWorkerOrder, true);
  EXPECT_DEATH(std::ignore = aggregate.add(from(0, 1, 1), {1.0F}), "CHECK");
  EXPECT_DEATH(std::ignore = aggregate.add(from(0, -1, 1), {1.0F, 1.0F}), "CHECK");
  EXPECT_DEATH(std::ignore = aggregate.add(from(0, 1, 0), {1.0F, 1.0F}), "CHECK");
  EXPECT_DEATH(std::ignore = aggregate.mean(), "CHECK");
}

TEST(Aggregate, ScalesBeforeTheVoteByWeightAlone) {
  const FilterRule median = FilterRule::parse(Spec::parse("median"));
  for (const bool weighted : {true, false}) {
    Aggregate aggregate(1, Reduce::kArrival, weighted, median);
    const auto adds = [&](std::uint32_t worker, double weight, float gradient) {
      (void)aggregate.add({.worker = WorkerId{worker},
                           .release = Sequence{1},
                           .weight = weight,
                           .examples = 1 + worker},
                          {gradient});
    };
    adds(0, 1.0, 4.0F);
    adds(1, 0.5, 12.0F);
    adds(2, 0.25, 20.0F);
    EXPECT_EQ(aggregate.mean()[0], weighted ? 5.0F : 12.0F);
    EXPECT_EQ(aggregate.mean_weight(), (1.0 + 2 * 0.5 + 3 * 0.25) / 6) << "for weight decay";
    aggregate.clear();
    adds(0, 1.0, 7.0F);
    EXPECT_EQ(aggregate.mean()[0], 0.0F) << "one vote is no majority";
  }
}

}  // namespace
}  // namespace outpace::update
