// Every policy, under random joins, departures, arrivals, refusals and crossed cancellations.
//
// CheckedDriver holds each decision to the contract and sees that somebody computes whenever
// somebody is live; here are the promises of each policy, against a deliberately plain account.

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

constexpr std::uint32_t kRanks = 6;
constexpr int kEvents = 200;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

struct Promise {
  std::string spec;
  std::uint64_t staleness_most = kNever;  // Of a gradient that is taken up.
  std::uint64_t slack = kNever;           // SSP's s.
  std::uint64_t lag_most = kNever;        // Of a release that nobody has cancelled.
  std::uint32_t uncommitted_most = 0;     // Gradients that wait for an update.
  bool cancels = false;
  bool wakes = false;  // It sets timers; for all others one means nothing.
};

const std::vector<Promise>& promises() {
  static const std::vector<Promise> kPromises{
      {.spec = "sync", .staleness_most = 0, .uncommitted_most = UINT32_MAX},
      {.spec = "backup:cutoff=1", .staleness_most = 0, .cancels = true},
      {.spec = "backup:cutoff=4", .staleness_most = 0, .uncommitted_most = 3, .cancels = true},
      {.spec = "dynamic:model=last",
       .staleness_most = 0,
       .uncommitted_most = UINT32_MAX,
       .cancels = true,
       .wakes = true},
      {.spec = "dynamic:decide=before,model=last,max=4",
       .staleness_most = 0,
       .uncommitted_most = 3,
       .cancels = true,
       .wakes = true},
      {.spec = "async"},
      {.spec = "softsync:n=1", .uncommitted_most = 5},
      {.spec = "softsync:n=2", .uncommitted_most = 2},
      {.spec = "softsync:n=6"},
      {.spec = "ksync:k=4", .staleness_most = 0, .uncommitted_most = 3, .cancels = true},
      {.spec = "kbatchsync:k=1", .staleness_most = 0, .cancels = true},
      {.spec = "kbatchsync:k=5", .staleness_most = 0, .uncommitted_most = 4, .cancels = true},
      {.spec = "kasync:k=1"},
      {.spec = "kasync:k=4", .uncommitted_most = 3},
      {.spec = "kasync:k=6", .uncommitted_most = 5},
      {.spec = "kbatchasync:k=1"},
      {.spec = "kbatchasync:k=5", .uncommitted_most = 4},
      {.spec = "adasync:k=3", .uncommitted_most = 2},
      {.spec = "adasync:k=3,rule=kbatchsync",
       .staleness_most = 0,
       .uncommitted_most = 2,
       .cancels = true},
      {.spec = "dssp:low=0,high=0", .slack = 0},
      {.spec = "dssp:low=1,high=4", .slack = 4},
      {.spec = "psp:beta=0"},
      {.spec = "psp:beta=2,s=1"},
      {.spec = "psp:beta=5,s=2"},
      {.spec = "ssp:s=0", .slack = 0},
      {.spec = "ssp:s=3", .slack = 3},
      {.spec = "saps:s=1,action=refresh", .staleness_most = 1},
      {.spec = "saps:s=7,action=refresh", .staleness_most = 7},
      {.spec = "saps:s=1,action=preempt", .staleness_most = 1, .lag_most = 0, .cancels = true},
      {.spec = "saps:s=7,action=preempt", .staleness_most = 7, .lag_most = 6, .cancels = true},
      {.spec = "saps:s=7,action=shrink", .staleness_most = 7},
      {.spec = "saps:s=2,action=dampen"}};
  return kPromises;
}

class RandomRun {
 public:
  RandomRun(const Promise& promise, std::uint64_t seed)
      : promise_(promise), driver_(promise.spec, kRanks), rng_(seed, 1) {}

  void run() {
    for (int i = 0; i < kEvents && !testing::Test::HasFailure(); ++i) {
      now_ += from_seconds(rng_.exponential());
      pass_event();
      check();
    }
    for (std::uint32_t worker = 0; worker < kRanks; ++worker) {
      if (joined(worker)) {
        driver_.leave(worker, Departure::kLeft, now_);
      }
    }
    EXPECT_EQ(driver_.uncommitted(), 0U) << "what was taken up is not left lying";
  }

 private:
  [[nodiscard]] bool joined(std::uint32_t worker) const {
    return worker < driver_.workers().size() && driver_.worker(worker).live;
  }

  void pass_event() {
    // The low ids are asked more often, as if they were faster.
    const auto worker =
        static_cast<std::uint32_t>(std::min(rng_.below(kRanks), rng_.below(kRanks + 2)));
    if (!joined(worker)) {
      const std::uint64_t least = least_clock();  // Before it joins with a clock of its own.
      clocks_[worker] = least == kNever ? 0 : least;
      driver_.join(worker, now_);
    } else if (rng_.below(20) == 0) {
      clocks_.erase(worker);
      driver_.leave(worker, static_cast<Departure>(rng_.below(3)), now_);
    } else if (driver_.computes(worker)) {
      answer(worker);
    } else if (rng_.below(2) == 0) {
      driver_.pass(TimerFired{}, now_);
      EXPECT_TRUE(promise_.wakes || driver_.last().actions.empty());
    }
  }

  // Whole although it was cancelled (they crossed), in part, given up, or not finite.
  void answer(std::uint32_t worker) {
    ++clocks_[worker];
    const CheckedDriver::Worker state = driver_.worker(worker);
    const std::uint64_t kind = rng_.below(10);
    if (kind == 0) {
      driver_.end(worker, Ending::kRefused, now_);
      return;
    }
    if (state.cancelled && kind <= 3) {
      driver_.end(worker, Ending::kAbandoned, now_);
      return;
    }
    const bool partial = state.keep_part && kind <= 7;
    const auto examples = static_cast<std::uint32_t>(partial ? 1 + rng_.below(31) : 32);
    const std::uint64_t staleness = driver_.version() - state.version;
    driver_.arrive(worker, {.examples = examples, .nominal = 32, .partial = partial}, now_);
    if (driver_.count<Accept>() == 1) {
      EXPECT_LE(staleness, promise_.staleness_most);
    }
  }

  void check() {
    for (const Action& action : driver_.last().actions) {
      if (const auto* release = std::get_if<Release>(&action)) {
        const std::uint64_t clock = clocks_.at(static_cast<std::uint32_t>(release->worker));
        EXPECT_LE(clock - least_clock(), promise_.slack);
      }
    }
    EXPECT_LE(driver_.uncommitted(), promise_.uncommitted_most);
    EXPECT_TRUE(promise_.cancels || driver_.count<Cancel>() == 0);
    std::uint64_t lag_most = 0;
    for (const CheckedDriver::Worker& state : driver_.workers()) {
      if (state.open && !state.cancelled) {
        lag_most = std::max(lag_most, driver_.version() - state.version);
      }
    }
    EXPECT_LE(lag_most, promise_.lag_most);
  }

  [[nodiscard]] std::uint64_t least_clock() const {
    std::uint64_t least = kNever;
    for (const auto& [worker, clock] : clocks_) {
      least = std::min(least, clock);
    }
    return least;
  }

  const Promise& promise_;
  CheckedDriver driver_;
  Rng rng_;
  Time now_{};
  std::map<std::uint32_t, std::uint64_t>
      clocks_;  // Finished iterations of the live, as SSP has it.
};

TEST(EveryPolicy, KeepsTheContractAndItsPromise) {
  for (const Promise& promise : promises()) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(promise.spec + ", seed " + std::to_string(seed));
      RandomRun(promise, seed).run();
      if (HasFailure()) {
        return;
      }
    }
  }
}

TEST(EveryPolicy, IsTriedHere) {
  for (const Entry& entry : catalogue()) {
    const auto names = [&](const Promise& promise) {
      return Spec::parse(promise.spec).name == entry.name;
    };
    EXPECT_TRUE(std::any_of(promises().begin(), promises().end(), names)) << entry.name;
  }
}

}  // namespace
}  // namespace outpace::policy
