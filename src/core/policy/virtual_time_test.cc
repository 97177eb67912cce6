// Policies on a virtual clock, where what the literature says of staleness can be counted.

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/checked_driver_test.h"
#include "policy/lag_bound.h"

namespace outpace::policy {
namespace {

constexpr std::uint32_t kNominal = 32;

// Workers that compute example after example, and can be interrupted between two.
class VirtualCluster {
 public:
  using Runtime = std::function<double(std::uint32_t worker, Rng& rng)>;  // For a full mini-batch.

  struct Count {
    std::uint64_t accepted = 0;
    std::uint64_t examples = 0;  // In the accepted.
    std::uint64_t dropped = 0;
    std::uint64_t abandoned = 0;
    std::uint64_t staleness = 0;  // Sum over the accepted.
    std::uint64_t staleness_most = 0;
    double longest_pause = 0.0;  // Between two accepted, in seconds.
    double last_accepted = 0.0;
  };

  struct Options {
    std::string spec;
    std::uint32_t workers;
    Runtime runtime;
    double latency = 0.0;  // From a cancellation to the answer, in seconds.
    std::uint64_t seed = 1;
  };

  explicit VirtualCluster(const Options& options)
      : options_(options),
        driver_(options.spec, options.workers),
        rng_(options.seed, 0),
        computing_(options.workers),
        counts_(options.workers) {
    for (std::uint32_t worker = 0; worker < options_.workers; ++worker) {
      driver_.join(worker);
      schedule(driver_.last());
    }
  }

  void run(std::uint64_t gradients) {
    while (total().accepted < gradients && !answers_.empty()) {
      const Answer answer = answers_.top();
      answers_.pop();
      if (answer.release == driver_.worker(answer.worker).sequence) {
        now_ = answer.time;
        take(answer);
        schedule(driver_.last());
      }
    }
  }

  [[nodiscard]] const Count& of(std::uint32_t worker) const { return counts_[worker]; }
  [[nodiscard]] const Count& total() const { return total_; }
  [[nodiscard]] std::uint64_t version() const { return driver_.version(); }
  // Summed over the releases that are open.
  [[nodiscard]] std::uint64_t lag_under_way() const {
    std::uint64_t lag = 0;
    for (const CheckedDriver::Worker& state : driver_.workers()) {
      lag += state.open ? driver_.version() - state.version : 0;
    }
    return lag;
  }

 private:
  struct Computing {
    double begun = 0.0;
    double per_example = 0.0;
    std::uint32_t examples = 0;
  };

  struct Answer {
    double time;
    std::uint64_t order;  // Ties are broken by it.
    std::uint32_t worker;
    Sequence release;
    std::uint32_t examples;  // None if abandoned.
    bool partial;

    bool operator<(const Answer& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  void take(const Answer& answer) {
    const Time now{from_seconds(now_)};
    Count& count = counts_[answer.worker];
    if (answer.examples == 0) {
      ++count.abandoned;
      driver_.end(answer.worker, Ending::kAbandoned, now);
      return;
    }
    const std::uint64_t staleness = driver_.version() - driver_.worker(answer.worker).version;
    driver_.arrive(answer.worker,
                   {.examples = answer.examples, .nominal = kNominal, .partial = answer.partial},
                   now);
    if (driver_.count<Drop>() > 0) {
      ++count.dropped;
      ++total_.dropped;
      return;
    }
    for (Count* counted : {&count, &total_}) {
      ++counted->accepted;
      counted->examples += answer.examples;
      counted->staleness += staleness;
      counted->staleness_most = std::max(counted->staleness_most, staleness);
      counted->longest_pause = std::max(counted->longest_pause, now_ - counted->last_accepted);
      counted->last_accepted = now_;
    }
  }

  void schedule(const Decision& decision) {
    for (const Action& action : decision.actions) {
      if (const auto* release = std::get_if<Release>(&action)) {
        const auto worker = static_cast<std::uint32_t>(release->worker);
        const auto examples = static_cast<std::uint32_t>(release->share * kNominal);
        Computing& computing = computing_[worker];
        computing = {.begun = now_,
                     .per_example = options_.runtime(worker, rng_) / kNominal,
                     .examples = std::max(1U, examples)};
        answer(worker, now_ + computing.per_example * computing.examples, computing.examples);
      } else if (const auto* cancel = std::get_if<Cancel>(&action)) {
        const auto worker = static_cast<std::uint32_t>(cancel->worker);
        const Computing& computing = computing_[worker];
        const double noticed = now_ + options_.latency / 2;
        const double done = std::floor((noticed - computing.begun) / computing.per_example);
        if (done < computing.examples) {  // Else the whole gradient comes sooner.
          answer(worker, now_ + options_.latency, static_cast<std::uint32_t>(done));
        }
      }
    }
  }

  void answer(std::uint32_t worker, double time, std::uint32_t examples) {
    answers_.push({.time = time,
                   .order = ++order_,
                   .worker = worker,
                   .release = driver_.worker(worker).sequence,
                   .examples = examples,
                   .partial = examples < computing_[worker].examples});
  }

  const Options options_;
  CheckedDriver driver_;
  Rng rng_;
  std::priority_queue<Answer> answers_;
  std::vector<Computing> computing_;
  std::vector<Count> counts_;
  Count total_;
  double now_ = 0.0;
  std::uint64_t order_ = 0;
};

double lognormal(Rng& rng, double cv) {
  const double variance = std::log(1 + cv * cv);
  return std::exp(std::sqrt(variance) * rng.normal() - variance / 2);
}

double near_equal(std::uint32_t /*worker*/, Rng& rng) {
  return lognormal(rng, 0.2);
}

double exponential(std::uint32_t /*worker*/, Rng& rng) {
  return rng.exponential();
}

double one_learner_slow(std::uint32_t worker, Rng& rng) {
  return lognormal(rng, 0.05) * (worker == 0 ? 4.0 : 1.0);
}

// Zhang, Gupta, Lian, Liu (IJCAI 2016), section 2: c = floor(lambda / n) gradients an update, and a
// learner that pulls right after its push. Each update makes the lambda - 1 that compute one
// staler, and of those no gradient escapes the count: so the mean is (lambda - 1) / c, exactly but
// for what is still under way at the end.
TEST(Softsync, HasMeanStalenessOfTheOthersOverTheCutoffWhateverTheRuntimes) {
  constexpr std::uint32_t kLearners = 30;
  constexpr std::uint64_t kGradients = 30000;
  constexpr double kEdge = 2.0 * kLearners * kLearners / kGradients;
  for (const auto& runtime : {near_equal, exponential, one_learner_slow}) {
    for (const std::uint32_t n : {1U, 4U, 15U, 30U}) {
      SCOPED_TRACE(n);
      VirtualCluster cluster(
          {.spec = "softsync:n=" + std::to_string(n), .workers = kLearners, .runtime = runtime});
      cluster.run(kGradients);
      EXPECT_EQ(cluster.total().staleness + cluster.lag_under_way(),
                (kLearners - 1) * cluster.version());
      const std::uint32_t cutoff = kLearners / n;
      const double mean = static_cast<double>(cluster.total().staleness) / kGradients;
      EXPECT_NEAR(mean, (kLearners - 1.0) / cutoff, kEdge);
    }
  }
}

// The same paper: "tau <= 2n", which holds among near-equal learners and not beyond.
TEST(Softsync, BoundsStalenessByTwiceTheSplitsOnlyAmongEqualLearners) {
  VirtualCluster equal({.spec = "softsync:n=1",
                        .workers = 30,
                        .runtime = [](std::uint32_t, Rng& rng) { return lognormal(rng, 0.05); }});
  equal.run(20000);
  EXPECT_EQ(equal.total().staleness_most, 2U);

  VirtualCluster slow({.spec = "softsync:n=1", .workers = 30, .runtime = one_learner_slow});
  slow.run(20000);
  EXPECT_GE(slow.total().staleness_most, 4U);
}

// Ho et al. (NIPS 2013): others finish at most 2s + 1 iterations during one of anybody's.
TEST(Ssp, BoundsStalenessForAFixedSetOfWorkers) {
  for (const std::uint64_t slack : {0U, 1U, 3U}) {
    VirtualCluster cluster(
        {.spec = "ssp:s=" + std::to_string(slack), .workers = 8, .runtime = exponential});
    cluster.run(10000);
    EXPECT_LE(cluster.total().staleness_most, 7 * (2 * slack + 1));
  }
}

// One of eight is always 50 times as slow; the others make 350 updates in one of its iterations.
constexpr std::uint32_t kSlowOfEight = 7;
double one_fifty_times_slower(std::uint32_t worker, Rng& rng) {
  return lognormal(rng, 0.1) * (worker == kSlowOfEight ? 50.0 : 1.0);
}

VirtualCluster saps_with_one_slow(const std::string& action, double latency) {
  VirtualCluster cluster({.spec = "saps:s=12,action=" + action,
                          .workers = 8,
                          .runtime = one_fifty_times_slower,
                          .latency = latency});
  cluster.run(10000);
  return cluster;
}

TEST(Saps, AppliesNothingBeyondTheBoundExceptDampened) {
  for (const std::string action : {"refresh", "preempt", "shrink"}) {
    for (const double latency : {0.0, 0.3}) {
      EXPECT_LE(saps_with_one_slow(action, latency).total().staleness_most, 12U) << action;
    }
  }
  EXPECT_GT(saps_with_one_slow("dampen", 0.0).total().staleness_most, 300U);
}

// By default s = 2 (W - 1): equal workers lose nothing, and interruptions do not set each other
// off.
TEST(Saps, KeepsAsyncsThroughputAmongEqualWorkers) {
  for (const std::uint32_t workers : {32U, 128U}) {
    const auto examples_per_second = [&](const std::string& spec) {
      VirtualCluster cluster({.spec = spec, .workers = workers, .runtime = near_equal});
      cluster.run(20000);
      EXPECT_LT(static_cast<double>(cluster.total().dropped), 0.02 * 20000) << spec;
      return static_cast<double>(cluster.total().examples) / cluster.total().last_accepted;
    };
    const double async = examples_per_second("async");
    for (const std::string spec : {"saps", "saps:s=2.5x", "saps:action=refresh"}) {
      EXPECT_GE(examples_per_second(spec), 0.98 * async) << spec << " with " << workers;
    }
  }
}

// Machines of four workers slow down and recover, each by itself: a slowdown from 1 to 5 with a
// memory of about a hundred mini-batches.
VirtualCluster::Runtime drifting(std::uint32_t workers) {
  return [logs = std::vector<double>(workers / 4, 0.0)](std::uint32_t worker, Rng& rng) mutable {
    double& log = logs[worker / 4];
    log = 0.9975 * log + std::sqrt(1 - 0.9975 * 0.9975) * rng.normal();
    return lognormal(rng, 0.1) * std::exp(std::clamp(log, 0.0, 1.6));
  };
}

TEST(Saps, KeepsTheBoundAndStarvesNobodyByDefault) {
  for (const std::uint32_t workers : {32U, 128U}) {
    const std::uint64_t bound = 2 * (std::uint64_t{workers} - 1);
    const auto slow = [](std::uint32_t worker, Rng& rng) {
      return lognormal(rng, 0.1) * (worker == 0 ? 50.0 : 1.0);
    };
    for (const auto& runtime : {VirtualCluster::Runtime(slow), drifting(workers)}) {
      VirtualCluster cluster({.spec = "saps", .workers = workers, .runtime = runtime});
      cluster.run(std::uint64_t{workers} * 400);
      EXPECT_LE(cluster.total().staleness_most, bound);
      EXPECT_LT(cluster.total().dropped, cluster.total().accepted / 50);
      for (std::uint32_t worker = 0; worker < workers; ++worker) {
        // With s = 2 (W - 1) everyone answers at least once while all make two rounds of updates.
        EXPECT_GE(cluster.of(worker).accepted, 150U) << worker << " of " << workers;
      }
    }
  }
}

// 32 equal workers, s = 31: most would be interrupted, and would interrupt the others. The pace of
// updates shows it: async makes 320 in 10 s.
TEST(Saps, InterruptionsDoNotSetEachOtherOff) {
  const auto equal = [](std::uint32_t, Rng& rng) { return lognormal(rng, 0.1); };
  VirtualCluster cluster({.spec = "saps:s=31", .workers = 32, .runtime = equal});
  cluster.run(20000);
  EXPECT_NEAR(20000 / cluster.total().last_accepted, 32.0, 1.0);
}

// s = 16 is half of what 32 workers are behind on average, so more are due than may be interrupted.
// The slow one does an example in eight updates: it has something to give in time.
TEST(Saps, StarvesNobodyWithABoundThatIsTooSmall) {
  const auto slow = [](std::uint32_t worker, Rng& rng) {
    return lognormal(rng, 0.1) * (worker == 0 ? 8.0 : 1.0);
  };
  VirtualCluster cluster({.spec = "saps:s=16", .workers = 32, .runtime = slow});
  cluster.run(20000);
  EXPECT_LE(cluster.total().staleness_most, 16U);
  EXPECT_GE(cluster.of(0).accepted, 20000U / 32 / 10);  // A tenth of an equal share.
}

TEST(Saps, DropsTheShareThatItWarnsOf) {
  const auto equal = [](std::uint32_t, Rng& rng) { return lognormal(rng, 0.1); };
  for (const std::uint64_t bound : {8U, 12U, 20U}) {
    VirtualCluster cluster({.spec = "saps:s=" + std::to_string(bound) + ",action=refresh",
                            .workers = 32,
                            .runtime = equal});
    cluster.run(20000);
    const double all = 20000.0 + static_cast<double>(cluster.total().dropped);
    EXPECT_NEAR(static_cast<double>(cluster.total().dropped) / all, share_dropped(bound, 32), 0.05);
  }
}

TEST(Saps, RefreshStarvesOneThatIsAlwaysTooSlow) {
  const VirtualCluster cluster = saps_with_one_slow("refresh", 0.0);
  EXPECT_EQ(cluster.of(kSlowOfEight).accepted, 0U);
  EXPECT_GT(cluster.of(kSlowOfEight).dropped, 20U);
}

TEST(Saps, PreemptShrinkAndDampenKeepTakingFromOneThatIsAlwaysTooSlow) {
  struct Expected {
    std::string action;
    std::uint64_t accepted;  // At least; of one that finishes about 28 mini-batches meanwhile.
    double longest_pause;    // At most, in mini-batches of the others.
  };
  for (const Expected& expected : {Expected{"preempt", 500, 15.0},
                                   Expected{"shrink", 500, 75.0},
                                   Expected{"dampen", 25, 75.0}}) {
    const VirtualCluster cluster = saps_with_one_slow(expected.action, 0.0);
    EXPECT_GE(cluster.of(kSlowOfEight).accepted, expected.accepted) << expected.action;
    EXPECT_LE(cluster.of(kSlowOfEight).longest_pause, expected.longest_pause) << expected.action;
  }
}

}  // namespace
}  // namespace outpace::policy
