#include "watch/slow_watch.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::watch {
namespace {

// What is said while each of 8 workers takes so long for 60 mini-batches, after 60 usual ones.
std::vector<std::string> said(std::uint64_t seed, const std::vector<double>& factors) {
  Rng rng(seed, 0);
  SlowWatch watch;
  std::vector<std::string> found;
  for (int round = 0; round < 120; ++round) {
    for (std::uint32_t i = 0; i < factors.size(); ++i) {
      const double seconds = 0.1 * (round < 60 ? 1.0 : factors[i]) * std::exp(0.1 * rng.normal());
      if (const auto change = watch.see(WorkerId{i}, seconds, false)) {
        const std::string who =
            change->worker ? std::to_string(index(*change->worker)) : std::string("all");
        found.push_back(who + (change->change == Change::kSlow ? " slow" : " recovered"));
      }
    }
  }
  return found;
}

TEST(SlowWatch, NamesTheWorkerThatHasBecomeSlow) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(said(seed, {1, 1, 1, 2, 1, 1, 1, 1}), std::vector<std::string>{"3 slow"}) << seed;
  }
}

TEST(SlowWatch, SaysNothingOfACalmCluster) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(said(seed, std::vector<double>(8, 1.0)), std::vector<std::string>{}) << seed;
  }
}

TEST(SlowWatch, BlamesNoWorkerForWhatHappensToAll) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<std::string> found = said(seed, std::vector<double>(8, 2.5));
    ASSERT_FALSE(found.empty()) << seed;
    EXPECT_EQ(found.front(), "all slow") << seed;
    EXPECT_LE(found.size(), 2U) << seed;
  }
}

// Eight workers on two processors: each moment's load is all workers', and lasts for a round.
TEST(SlowWatch, HardlySaysAnythingOfMomentsInWhichAllAreSlower) {
  int alarms = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed, 0);
    SlowWatch watch;
    for (int round = 0; round < 2000; ++round) {
      const double load = 0.25 * rng.normal();
      for (std::uint32_t i = 0; i < 8; ++i) {
        const double seconds = 0.01 * std::exp(load + 0.1 * rng.normal());
        const auto change = watch.see(WorkerId{i}, seconds, false);
        alarms += change && !change->worker && change->change == Change::kSlow ? 1 : 0;
      }
    }
  }
  EXPECT_LE(alarms, 4) << "of 40,000 rounds";
}

// A first mini-batch that compiles for ten times as long would be part of the baseline, whose
// spread would hide that a worker has become slow.
TEST(SlowWatch, LearnsNoBaselineFromTheFirstMiniBatchesOfAProcess) {
  const auto rounds_until_slow = [](double first) {
    Rng rng(1, 0);
    SlowWatch watch;
    for (int round = 0; round < 200; ++round) {
      const double factor = round == 0 ? first : round < 60 ? 1.0 : 1.5;
      const double seconds = 0.1 * factor * std::exp(0.1 * rng.normal());
      if (watch.see(WorkerId{0}, seconds, false)) {
        return round;
      }
    }
    return 200;
  };
  EXPECT_LT(rounds_until_slow(1.0), 75);
  EXPECT_EQ(rounds_until_slow(10.0), rounds_until_slow(1.0));
}

TEST(SlowWatch, ForgetsThePastOfAProcessThatIsReplaced) {
  SlowWatch watch;
  for (int i = 0; i < 100; ++i) {
    (void)watch.see(WorkerId{0}, 0.1, false);
  }
  watch.forget(WorkerId{0});
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(watch.see(WorkerId{0}, 0.5, false)) << i;
  }
  EXPECT_EQ(watch.factor(WorkerId{0}), 1.0);
  EXPECT_EQ(watch.factor(WorkerId{9}), 1.0);
}

// All of `workers` on one host keep their pace, but for those in `slow`.
std::vector<std::string> said_of_a_host(std::uint64_t seed,
                                        std::uint32_t workers,
                                        const std::set<std::uint32_t>& slow) {
  Rng rng(seed, 0);
  SlowWatch watch;
  std::vector<std::string> found;
  for (std::uint32_t i = 0; i < workers; ++i) {
    watch.is_at(WorkerId{i}, "one");
  }
  for (int round = 0; round < 120; ++round) {
    for (std::uint32_t i = 0; i < workers; ++i) {
      const double factor = round >= 60 && slow.contains(i) ? 3.0 : 1.0;
      const auto change =
          watch.see(WorkerId{i}, 0.1 * factor * std::exp(0.1 * rng.normal()), false);
      if (change && change->worker) {
        found.push_back(std::to_string(index(*change->worker)));
      }
    }
  }
  return found;
}

TEST(SlowWatch, BlamesNoWorkerForABusyHost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const std::uint32_t workers : {2U, 3U, 4U}) {
      std::set<std::uint32_t> all;
      for (std::uint32_t i = 0; i < workers; ++i) {
        all.insert(i);
      }
      EXPECT_EQ(said_of_a_host(seed, workers, all), std::vector<std::string>{})
          << seed << ", " << workers;
      EXPECT_EQ(said_of_a_host(seed, workers, {1}), std::vector<std::string>{"1"})
          << seed << ", " << workers;
    }
  }
}

TEST(SlowWatch, JudgesAWorkerByThoseOfItsNewHost) {
  SlowWatch watch;
  watch.is_at(WorkerId{0}, "one");
  watch.is_at(WorkerId{1}, "one");
  watch.is_at(WorkerId{1}, "another");
  std::vector<std::string> found;
  for (int round = 0; round < 120; ++round) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (watch.see(WorkerId{i}, round < 60 ? 0.1 : 0.3, false)) {
        found.push_back(std::to_string(i));
      }
    }
  }
  EXPECT_EQ(found, (std::vector<std::string>{"0", "1"}));
}

TEST(SlowWatch, TellsNothingBelowOneAndAHalf) {
  SlowWatch watch;
  for (int i = 0; i < 200; ++i) {
    (void)watch.see(WorkerId{0}, i < 60 ? 0.1 : 0.14, false);
  }
  EXPECT_EQ(watch.factor(WorkerId{0}), 1.0);
  for (int i = 0; i < 200; ++i) {
    (void)watch.see(WorkerId{0}, 0.16, false);
  }
  EXPECT_GT(watch.factor(WorkerId{0}), 1.5);
}

}  // namespace
}  // namespace outpace::watch
