#include "policy/balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::policy {
namespace {

constexpr std::uint32_t kFullBatch = 32;

WorkerId id(std::size_t worker) {
  return WorkerId{static_cast<std::uint32_t>(worker)};
}

// Workers with a number of seconds per example, to the nanosecond, and a fixed time for the rest.
class Cluster {
 public:
  explicit Cluster(std::vector<double> seconds,
                   double most = 4.0,
                   std::uint32_t nominal = kFullBatch)
      : balance_({.most = most}), seconds_(std::move(seconds)), nominal_(nominal) {
    fixed_.resize(seconds_.size(), 0.0);
    for (std::size_t worker = 0; worker < seconds_.size(); ++worker) {
      balance_.join(id(worker));
    }
  }

  void set_fixed(std::vector<double> fixed) { fixed_ = std::move(fixed); }
  void set_seconds(std::size_t worker, double seconds) { seconds_[worker] = seconds; }

  // An answer of each worker, and an update.
  void round() {
    for (std::size_t worker = 0; worker < seconds_.size(); ++worker) {
      answer(worker);
    }
    balance_.updated();
  }
  void rounds(int times) {
    for (int i = 0; i < times; ++i) {
      round();
    }
  }
  void answer(std::size_t worker) {
    balance_.answered(id(worker), size(worker), nominal_, from_seconds(time(worker)));
  }

  [[nodiscard]] std::uint32_t size(std::size_t worker) {
    const std::uint32_t size = balance_.size(id(worker));
    return size == 0 ? nominal_ : size;
  }
  // The time of the worker's next mini-batch.
  [[nodiscard]] double time(std::size_t worker) {
    return fixed_[worker] + seconds_[worker] * size(worker);
  }
  [[nodiscard]] std::vector<std::uint32_t> sizes() {
    std::vector<std::uint32_t> sizes;
    for (std::size_t worker = 0; worker < seconds_.size(); ++worker) {
      sizes.push_back(size(worker));
    }
    return sizes;
  }
  [[nodiscard]] Balance& balance() { return balance_; }

 private:
  Balance balance_;
  std::vector<double> seconds_;
  std::vector<double> fixed_;
  std::uint32_t nominal_;
};

std::uint64_t sum(const std::vector<std::uint32_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
}

using Sizes = std::vector<std::uint32_t>;

TEST(Balance, BeginsWithNominalMiniBatches) {
  Cluster cluster({0.01, 0.02});
  EXPECT_EQ(cluster.sizes(), (Sizes{32, 32}));
  cluster.rounds(2);
  EXPECT_EQ(cluster.sizes(), (Sizes{32, 32})) << "two answers may both be slow starts";
  cluster.round();
  EXPECT_EQ(cluster.balance().size(id(0)), 43U);
}

TEST(Balance, SizesAreInProportionToSpeeds) {
  // Speeds 4 : 2 : 1 : 1 of 128 examples.
  Cluster cluster({0.01, 0.02, 0.04, 0.04});
  cluster.rounds(3);
  EXPECT_EQ(cluster.sizes(), (Sizes{64, 32, 16, 16}));
  cluster.rounds(20);
  EXPECT_EQ(cluster.sizes(), (Sizes{64, 32, 16, 16})) << "and stay there";
}

TEST(Balance, KeepsTheBoundsAndTheSum) {
  // Without bounds 7 : 1/14 each of 256: the one may have 4 * 32, the others share what is left.
  Cluster most({0.001, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1});
  most.rounds(3);
  EXPECT_EQ(most.sizes(), (Sizes{128, 18, 19, 18, 18, 18, 19, 18}));
  // Ten thousand times as slow is 0.003 examples: it gets one.
  Cluster least({0.01, 100.0});
  least.rounds(3);
  EXPECT_EQ(least.sizes(), (Sizes{63, 1}));
  Cluster none({0.01, 0.04}, /*most=*/1.0);
  none.rounds(10);
  EXPECT_EQ(none.sizes(), (Sizes{32, 32})) << "with most = 1 nobody can have more";
  Cluster single({0.01, 0.04}, /*most=*/4.0, /*nominal=*/1);
  single.rounds(10);
  EXPECT_EQ(single.sizes(), (Sizes{1, 1}));
}

TEST(Balance, EvensTimesThatHaveAFixedPart) {
  // 0.2 s besides the examples, of the one worker, and nothing of the other: both take
  // 0.2 + 0.01 e = 0.01 (200 - e), so e is 90 of 200.
  Cluster cluster({0.01, 0.01}, 4.0, 100);
  cluster.set_fixed({0.2, 0.0});
  cluster.rounds(30);
  EXPECT_NEAR(cluster.size(0), 90.0, 1.0);
  EXPECT_NEAR(cluster.time(0), cluster.time(1), 0.02);
}

TEST(Balance, IsNotMovedByOneSlowAnswer) {
  Cluster cluster({0.01, 0.01});
  cluster.rounds(5);
  cluster.set_seconds(1, 1.0);
  cluster.round();
  EXPECT_EQ(cluster.sizes(), (Sizes{32, 32}));
  cluster.round();
  EXPECT_LT(cluster.size(1), 2U) << "two are how it is now";
  cluster.set_seconds(1, 0.01);
  cluster.rounds(2);
  EXPECT_EQ(cluster.sizes(), (Sizes{32, 32}));
}

TEST(Balance, SharesOutAgainWhoeverIsThere) {
  Cluster cluster({0.01, 0.01, 0.02});
  cluster.rounds(3);
  EXPECT_EQ(cluster.sizes(), (Sizes{38, 39, 19}));
  cluster.balance().leave(id(1));
  cluster.balance().updated();
  EXPECT_EQ(cluster.balance().size(id(0)), 43U) << "2/3 of 64";
  EXPECT_EQ(cluster.balance().size(id(2)), 21U);
  cluster.balance().join(id(1));
  cluster.round();
  EXPECT_EQ(cluster.balance().size(id(1)), 0U) << "nominal: nothing is known of the newcomer";
  EXPECT_EQ(cluster.size(0) + cluster.size(2), 64U);
  cluster.rounds(2);
  EXPECT_EQ(sum(cluster.sizes()), 96U);
  EXPECT_EQ(cluster.size(0), 38U);
}

TEST(Balance, ChangesSizesOncePerRoundOfAnswers) {
  Cluster cluster({0.01, 0.02});
  for (int answers = 0; answers < 3; ++answers) {
    cluster.answer(0);
    cluster.answer(1);
  }
  EXPECT_EQ(cluster.sizes(), (Sizes{32, 32})) << "no update yet";
  cluster.balance().updated();
  EXPECT_EQ(cluster.sizes(), (Sizes{43, 21}));
  cluster.set_seconds(0, 0.02);
  for (int answers = 0; answers < 5; ++answers) {
    cluster.answer(0);
  }
  cluster.balance().updated();
  EXPECT_EQ(cluster.sizes(), (Sizes{32, 32}));
  cluster.answer(0);
  cluster.balance().updated();
  EXPECT_EQ(cluster.sizes(), (Sizes{32, 32})) << "one answer of two workers is no round";
}

TEST(Balance, TakesThoseThatAreStoppedForSlow) {
  // Cut off whenever worker 0 is done, so that no answer of worker 1 is ever seen.
  Cluster cluster({0.01, 0.08});
  int until_in_time = 0;
  for (; cluster.time(1) > cluster.time(0) && until_in_time < 100; ++until_in_time) {
    cluster.answer(0);
    cluster.balance().stopped(id(1), cluster.size(1), from_seconds(cluster.time(0)));
    cluster.balance().updated();
  }
  EXPECT_LT(until_in_time, 20) << "it has been given few enough to be in time";
  EXPECT_LE(cluster.size(1), 8U);
}

TEST(Balance, StaysFinite) {
  for (const double seconds : {0.0, 1e-9, 1e8}) {
    Cluster cluster({seconds, 0.01, 1e-12});
    cluster.rounds(10);
    EXPECT_EQ(sum(cluster.sizes()), 96U) << seconds;
    for (const std::uint32_t size : cluster.sizes()) {
      EXPECT_TRUE(size >= 1 && size <= 128) << seconds;
    }
  }
  Cluster great({0.01, 0.04}, kShareMost, UINT32_MAX);
  great.rounds(4);
  for (const std::uint32_t size : great.sizes()) {
    EXPECT_GE(size, 1U);
  }
}

// The best that whole examples can do, one at a time: the next goes to who would have it first.
double slowest_if_dealt_out(const std::vector<double>& seconds, std::uint32_t most) {
  std::vector<std::uint32_t> sizes(seconds.size(), 1);
  for (std::size_t left = seconds.size() * (kFullBatch - 1); left > 0; --left) {
    std::size_t first = seconds.size();
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const bool room = sizes[i] < most;
      if (room && (first == seconds.size() ||
                   (sizes[i] + 1) * seconds[i] < (sizes[first] + 1) * seconds[first])) {
        first = i;
      }
    }
    ++sizes[first];
  }
  double slowest = 0.0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    slowest = std::max(slowest, sizes[i] * seconds[i]);
  }
  return slowest;
}

TEST(Balance, IsWithinAnExampleOfTheBest) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed, 0);
    std::vector<double> seconds;
    for (std::uint64_t workers = 1 + rng.below(12); workers > 0; --workers) {
      seconds.push_back(0.001 * std::exp(4.0 * rng.uniform()));
    }
    const double most = 1.0 + 7.0 * rng.uniform();
    Cluster cluster(seconds, most);
    cluster.rounds(3);
    const std::vector<std::uint32_t> sizes = cluster.sizes();
    EXPECT_EQ(sum(sizes), kFullBatch * seconds.size());
    const auto size_most = static_cast<std::uint32_t>(most * kFullBatch);
    const double best = slowest_if_dealt_out(seconds, size_most);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(sizes[i] >= 1 && sizes[i] <= size_most);
      EXPECT_LE((sizes[i] - 1) * seconds[i], best * (1 + 1e-6)) << "worker " << i;
    }
  }
}

TEST(BalanceDeathTest, WantsABoundThatThereIs) {
  EXPECT_DEATH(Balance({.most = 0.5}), "most");
  EXPECT_DEATH(Balance({.most = 2 * kShareMost}), "most");
}

}  // namespace
}  // namespace outpace::policy
