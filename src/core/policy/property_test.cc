// Every policy, under random joins, departures, arrivals, refusals and crossed cancellations.
//
// CheckedDriver holds each decision to the contract and sees that somebody computes whenever
// somebody is live; here are the promises of each policy, against a deliberately plain account.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/catalogue.h"
#include "policy/checked_driver_test.h"
#include "policy/switch_spec.h"

namespace outpace::policy {
namespace {

constexpr std::uint32_t kRanks = 6;
constexpr int kEvents = 200;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

struct Promise {
  std::string spec;
  std::uint64_t staleness_most = kNever;  // The greatest staleness of a gradient that is applied.
  std::uint64_t slack = kNever;           // SSP's s.
  std::uint64_t lag_most = kNever;        // The greatest lag of a release that nobody cancelled.
  std::uint32_t uncommitted_most = 0;     // Gradients that wait for an update.
  bool cancels = false;
  bool earns = false;  // A cancellation for each whole gradient taken up; lag_most then holds while
                       // one is left.
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
      {.spec = "saps:s=1,action=refresh", .staleness_most = 1, .cancels = true},
      {.spec = "saps:s=7,action=refresh", .staleness_most = 7, .cancels = true},
      {.spec = "saps:s=1,action=preempt",
       .staleness_most = 1,
       .lag_most = 0,
       .cancels = true,
       .earns = true},
      {.spec = "saps:s=7,action=preempt",
       .staleness_most = 7,
       .lag_most = 6,
       .cancels = true,
       .earns = true},
      {.spec = "saps", .staleness_most = 2 * (kRanks - 1), .cancels = true, .earns = true},
      {.spec = "saps:s=1.5x", .cancels = true, .earns = true},
      {.spec = "saps:action=refresh", .staleness_most = 2 * (kRanks - 1), .cancels = true},
      {.spec = "saps:s=7,action=shrink", .staleness_most = 7, .cancels = true},
      {.spec = "saps:s=2,action=dampen"},
      // Each phase keeps its own promise, which is in this list.
      {.spec = "switch(async until updates>10 then sync until updates>20 then ssp:s=3)"},
      {.spec = "switch(ssp:s=3 until seconds>30 then saps:s=1,action=preempt until seconds>60 then "
               "kbatchasync:k=5 until seconds>90 then backup:cutoff=4)"},
      {.spec = "switch(kbatchsync:k=5 until seconds>20 then dynamic:model=last until seconds>40 "
               "then psp:beta=2,s=1 until seconds>60 then kasync:k=4)"}};
  return kPromises;
}

const Promise& promise_of(const std::string& spec) {
  const auto found = std::find_if(promises().begin(),
                                  promises().end(),
                                  [&](const Promise& promise) { return promise.spec == spec; });
  EXPECT_NE(found, promises().end()) << spec;
  return *found;
}

// Whether somebody sets other policies during the run.
enum class Sets : std::uint8_t { kNothing, kOthers };

class RandomRun {
 public:
  RandomRun(const std::string& spec,
            std::uint64_t seed,
            const std::optional<BalanceOptions>& balance = std::nullopt,
            Sets sets = Sets::kNothing)
      : sets_(sets),
        phases_(phases_of(Spec::parse(spec))),
        promise_(&promise_of(phases_.front().policy.text)),
        driver_(make(spec, balance, sets), balance),
        rng_(seed, 1) {}

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
  static std::unique_ptr<Policy> make(const std::string& spec,
                                      const std::optional<BalanceOptions>& balance,
                                      Sets sets) {
    const Spec policy = Spec::parse(spec);
    return sets == Sets::kNothing ? make_policy(policy, kRanks, {.balance = balance})
                                  : make_settable_policy(policy, kRanks, {.balance = balance});
  }

  [[nodiscard]] bool joined(std::uint32_t worker) const {
    return worker < driver_.workers().size() && driver_.worker(worker).live;
  }

  void set_any() {
    const std::string& spec = promises()[rng_.below(promises().size())].spec;
    phases_ = phases_of(Spec::parse(spec));
    driver_.pass(PolicySet{spec}, now_);
  }

  void pass_event() {
    if (sets_ == Sets::kOthers && rng_.below(30) == 0) {
      set_any();
      return;
    }
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
      EXPECT_TRUE(promise_->wakes || driver_.last().actions.empty());
    }
  }

  // Whole although it was cancelled (they crossed), in part, given up, or not finite.
  void answer(std::uint32_t worker) {
    ++clocks_[worker];
    const CheckedDriver::Worker state = driver_.worker(worker);
    const std::uint64_t kind = rng_.below(10);
    if (kind == 0) {
      driver_.end(worker, rng_.uniform() < 0.5 ? Ending::kRefused : Ending::kFiltered, now_);
      return;
    }
    if (state.cancelled && kind <= 3) {
      driver_.end(worker, Ending::kAbandoned, now_);
      return;
    }
    const bool partial = state.keep_part && kind <= 7;
    const auto whole = static_cast<std::uint32_t>(std::max(1.0, std::round(32 * state.share)));
    const auto examples =
        static_cast<std::uint32_t>(partial ? 1 + rng_.below(std::max(2U, whole) - 1) : whole);
    const std::uint64_t staleness = driver_.version() - state.version;
    driver_.arrive(worker, {.examples = examples, .nominal = 32, .partial = partial}, now_);
    if (driver_.count<Accept>() == 1) {
      EXPECT_LE(staleness, promise_->staleness_most);
      earned_ = partial ? earned_ : std::min(earned_ + 1, static_cast<int>(clocks_.size()));
    }
  }

  void check() {
    for (const Action& action : driver_.last().actions) {
      if (const auto* release = std::get_if<Release>(&action)) {
        const std::uint64_t clock = clocks_.at(static_cast<std::uint32_t>(release->worker));
        EXPECT_LE(clock - least_clock(), promise_->slack);
      } else if (const auto* seam = std::get_if<Switched>(&action)) {
        promise_ = &promise_of(phases_.at(seam->to).policy.text);
        for (auto& [worker, clock] : clocks_) {
          clock = 0;
        }
      }
    }
    EXPECT_LE(driver_.uncommitted(), promise_->uncommitted_most);
    EXPECT_TRUE(promise_->cancels || driver_.count<Cancel>() == 0);
    std::uint64_t lag_most = 0;
    for (const CheckedDriver::Worker& state : driver_.workers()) {
      if (state.open && !state.cancelled) {
        lag_most = std::max(lag_most, driver_.version() - state.version);
      }
    }
    if (!promise_->earns) {
      EXPECT_LE(lag_most, promise_->lag_most);
    } else if (sets_ == Sets::kNothing && phases_.size() == 1) {  // A seam holds releases back.
      earned_ -= driver_.count<Cancel>();
      EXPECT_GE(earned_, 0);
      EXPECT_TRUE(lag_most <= promise_->lag_most || earned_ == 0);
    }
  }

  [[nodiscard]] std::uint64_t least_clock() const {
    std::uint64_t least = kNever;
    for (const auto& [worker, clock] : clocks_) {
      least = std::min(least, clock);
    }
    return least;
  }

  const Sets sets_;
  std::vector<Phase> phases_;  // The policy's; a Switched names one by its index.
  const Promise* promise_;     // For the present phase.
  CheckedDriver driver_;
  Rng rng_;
  Time now_{};
  int earned_ = 0;  // Cancellations.
  std::map<std::uint32_t, std::uint64_t>
      clocks_;  // Finished iterations of the live, as SSP has it.
};

TEST(EveryPolicy, KeepsTheContractAndItsPromise) {
  for (const Promise& promise : promises()) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(promise.spec + ", seed " + std::to_string(seed));
      RandomRun(promise.spec, seed).run();
      if (HasFailure()) {
        return;
      }
    }
  }
}

TEST(EveryPolicy, MayBeFollowedByAnyOther) {
  for (const Promise& promise : promises()) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      SCOPED_TRACE(promise.spec + ", seed " + std::to_string(seed));
      const auto balance = seed % 2 == 0 ? std::nullopt : std::optional(BalanceOptions{});
      RandomRun(promise.spec, seed, balance, Sets::kOthers).run();
      if (HasFailure()) {
        return;
      }
    }
  }
}

TEST(EveryPolicy, KeepsThemWithBalancedMiniBatches) {
  for (const Promise& promise : promises()) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(promise.spec + ", seed " + std::to_string(seed));
      RandomRun(promise.spec, seed, BalanceOptions{}).run();
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
