#include "policy/balanced.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

constexpr std::uint32_t kFull = 32;

// Workers that take a second, the last of them four, for a full mini-batch; each answers as soon as
// it is done.
class SlowLast {
 public:
  SlowLast(const std::string& spec,
           std::uint32_t workers,
           const std::optional<BalanceOptions>& balance = BalanceOptions{})
      : driver_(spec, workers, balance), slow_(workers - 1) {
    driver_.join_all(workers);
  }

  // The next `gradients` answers, in order of time and then of worker.
  void answer(int gradients) {
    while (gradients-- > 0) {
      std::uint32_t next = 0;
      for (std::uint32_t worker = 0; worker <= slow_; ++worker) {
        if (driver_.computes(worker) && (!driver_.computes(next) || done(worker) < done(next))) {
          next = worker;
        }
      }
      share_ = driver_.worker(next).share;
      driver_.arrive(next, {.examples = examples(next), .nominal = kFull}, done(next));
    }
  }

  [[nodiscard]] std::uint32_t examples(std::uint32_t worker) const {
    return static_cast<std::uint32_t>(std::lround(driver_.worker(worker).share * kFull));
  }
  // The share of the gradient that was answered last.
  [[nodiscard]] double share() const { return share_; }
  [[nodiscard]] CheckedDriver& driver() { return driver_; }

 private:
  [[nodiscard]] Time done(std::uint32_t worker) const {
    const double full = worker == slow_ ? 4.0 : 1.0;
    return driver_.worker(worker).released + from_seconds(full * driver_.worker(worker).share);
  }

  CheckedDriver driver_;
  std::uint32_t slow_;
  double share_ = 1.0;
};

TEST(Balanced, GivesEachUpdateOfSyncAsManyExamplesAsBefore) {
  SlowLast run("sync", 4);
  run.answer(3 * 4);
  for (int update = 0; update < 50; ++update) {
    std::uint32_t sum = 0;
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
      sum += run.examples(worker);
    }
    EXPECT_EQ(sum, 4 * kFull);
    EXPECT_NEAR(run.examples(0), 39.4, 1.0);
    EXPECT_NEAR(run.examples(3), 9.8, 1.0);
    run.answer(4);
    EXPECT_EQ(run.driver().count<Commit>(), 1);
    EXPECT_EQ(run.driver().first<Accept>().weight, 1.0) << "the server divides by the examples";
  }
}

TEST(Balanced, WeighsALoneGradientByItsExamples) {
  for (const std::string spec :
       {"async", "ssp:s=8", "softsync:n=3", "psp:beta=0", "saps:s=8,action=refresh"}) {
    SCOPED_TRACE(spec);
    SlowLast run(spec, 3);
    run.answer(60);
    for (int gradient = 0; gradient < 30; ++gradient) {
      run.answer(1);
      EXPECT_EQ(run.driver().first<Accept>().weight, run.share());
    }
    EXPECT_GT(run.driver().worker(0).share, 1.3);
    EXPECT_LT(run.driver().worker(2).share, 0.4);
  }
}

TEST(Balanced, LeavesTheWeightsOfASetAsTheyAre) {
  SlowLast run("softsync:n=1", 4);
  for (int gradient = 0; gradient < 100; ++gradient) {
    run.answer(1);
    EXPECT_EQ(run.driver().first<Accept>().weight, 1.0);
  }
  EXPECT_GT(run.driver().worker(0).share, 1.1);
}

TEST(Balanced, WeighsAPartByItsExamplesToo) {
  SlowLast run("saps:s=2", 2);
  run.answer(40);
  const std::uint32_t whole = run.examples(0);
  ASSERT_GT(whole, kFull);
  run.driver().arrive(0, {.examples = whole / 2, .nominal = kFull, .partial = true}, at(1e6));
  EXPECT_NEAR(run.driver().first<Accept>().weight, (whole / 2) / 32.0, 1e-12);
}

TEST(Balanced, MultipliesWithTheSharesOfThePolicy) {
  // Late, though its mini-batch is as small as its speed was: the policy's share of that.
  SlowLast run("saps:s=1,action=shrink", 2);
  run.answer(40);
  const double balanced = run.driver().worker(1).share;
  ASSERT_LT(balanced, 0.5);
  const Time now = run.driver().worker(1).released;
  for (int gradient = 1; gradient <= 4; ++gradient) {
    run.driver().arrive(0, {.examples = run.examples(0)}, now + from_seconds(1.6 * gradient));
  }
  run.driver().arrive(1, {.examples = run.examples(1)}, now + from_seconds(6.4));
  EXPECT_EQ(run.driver().count<Drop>(), 1);
  EXPECT_NEAR(run.driver().worker(1).share, balanced / 4, 0.05);
}

TEST(Balanced, KnowsWhoIsAlwaysCutOff) {
  SlowLast run("backup:cutoff=3", 4);
  bool counted = false;
  for (int update = 0; update < 60; ++update) {
    run.answer(3);
    if (run.driver().worker(3).cancelled) {
      const Time released = run.driver().worker(3).released;
      run.driver().end(3, Ending::kAbandoned, released + from_seconds(1.0));
    } else {
      counted = true;
    }
  }
  EXPECT_TRUE(counted);
  EXPECT_LT(run.driver().worker(3).share, 0.5);
}

TEST(Balanced, TakesNobodyForSlowWhoseGradientsAreTurnedAway) {
  for (const Ending how : {Ending::kRefused, Ending::kFiltered}) {
    CheckedDriver driver("async", 3, BalanceOptions{});
    driver.join_all(3);
    for (int second = 1; second <= 30; ++second) {
      driver.arrive(0, {}, at(second));
      driver.arrive(1, {}, at(second));
      if (second % 3 == 0) {
        driver.end(2, how, at(second));
      } else {
        driver.arrive(2, {}, at(second));
      }
    }
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      EXPECT_EQ(driver.worker(worker).share, 1.0);
    }
  }
}

TEST(Balanced, ChangesNothingWhereAllAreAlike) {
  CheckedDriver plain("sync", 3);
  CheckedDriver balanced("sync", 3, BalanceOptions{});
  plain.join_all(3);
  balanced.join_all(3);
  for (int gradient = 0; gradient < 300; ++gradient) {
    const auto worker = static_cast<std::uint32_t>(gradient % 3);
    const Time now = at(1.0 + gradient / 3);  // NOLINT(bugprone-integer-division): whole seconds.
    plain.arrive(worker, {}, now);
    balanced.arrive(worker, {}, now);
    ASSERT_EQ(plain.last().actions.size(), balanced.last().actions.size());
    EXPECT_EQ(balanced.worker(worker).share, 1.0);
  }
}

TEST(Balanced, IsThePolicyInsideInAllElse) {
  const auto saps = make_policy(Spec::parse("saps:s=2"), 4, {.balance = BalanceOptions{}});
  EXPECT_TRUE(saps->asks_for_parts());
  EXPECT_EQ(saps->nominal_cutoff(4), 1U);
  const auto backup = make_policy(Spec::parse("backup:cutoff=3"), 4, {.balance = BalanceOptions{}});
  EXPECT_FALSE(backup->asks_for_parts());
  EXPECT_EQ(backup->nominal_cutoff(4), 3U);
}

}  // namespace
}  // namespace outpace::policy
