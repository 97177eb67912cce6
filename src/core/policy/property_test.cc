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
constexpr int kEventsOfAuto = 2500;  // It looks rarely.
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// Beside what is drawn of every policy: options at their ends and between, and chains.
const std::vector<std::string>& edges() {
  static const std::vector<std::string> kEdges{
      "backup:cutoff=1",
      "backup:cutoff=4",
      "dynamic:model=last",
      "dynamic:decide=before,model=last,max=4",
      "softsync:n=1",
      "softsync:n=2",
      "softsync:n=6",
      "ksync:k=4",
      "kbatchsync:k=1",
      "kbatchsync:k=5",
      "kasync:k=1",
      "kasync:k=4",
      "kasync:k=6",
      "kbatchasync:k=1",
      "kbatchasync:k=5",
      "adasync:k=3",
      "adasync:k=3,rule=kbatchsync",
      "dssp:low=0,high=0",
      "dssp:low=1,high=4",
      "psp:beta=0",
      "psp:beta=2,s=1",
      "psp:beta=5,s=2",
      "ssp:s=0",
      "ssp:s=3",
      "saps:s=1,action=refresh",
      "saps:s=7,action=refresh",
      "saps:s=1,action=preempt",
      "saps:s=7,action=preempt",
      "saps",
      "saps:s=1.5x",
      "saps:action=refresh",
      "saps:s=7,action=shrink",
      "saps:s=2,action=dampen",
      "switch(async until updates>10 then sync until updates>20 then ssp:s=3)",
      "switch(ssp:s=3 until seconds>30 then saps:s=1,action=preempt until seconds>60 then "
      "kbatchasync:k=5 until seconds>90 then backup:cutoff=4)",
      "switch(kbatchsync:k=5 until seconds>20 then dynamic:model=last until seconds>40 "
      "then psp:beta=2,s=1 until seconds>60 then kasync:k=4)"};
  return kEdges;
}

// What is tried, of every policy of the catalogue.
std::vector<std::string> tried() {
  std::vector<std::string> specs = edges();
  Rng rng(1, 2);
  for (const Entry& entry : catalogue()) {
    for (int i = 0; i < 3; ++i) {
      const std::string spec = draw_spec(entry, rng, kRanks);
      if (spec != specs.back()) {  // One without options is drawn once.
        specs.push_back(spec);
      }
    }
  }
  return specs;
}

// What the catalogue says of a policy, in the numbers of this account.
struct Kept {
  std::uint64_t staleness_most = kNever;  // The greatest of a gradient that is taken up.
  std::uint64_t slack = kNever;           // SSP's s.
  std::uint64_t lag_most = kNever;        // The greatest of a release that nobody has cancelled.
  std::uint64_t uncommitted_most = 0;     // Gradients that wait for an update.
  bool cancels = false;
  bool earns = false;  // A cancellation for each whole gradient taken up; lag_most then holds while
                       // one is left.
  bool wakes = false;  // It sets timers; for all others one means nothing.
};

std::uint64_t uncommitted_most(const Promise& promise) {
  switch (promise.awaits) {
    case Awaits::kAny:
      return kNever;
    case Awaits::kOne:
      return 0;
    case Awaits::kSplits:
      return std::max<std::uint64_t>(1, kRanks / promise.gradients) - 1;
    case Awaits::kBatches:
    case Awaits::kRound:
    case Awaits::kWorkers:
      break;
  }
  return promise.gradients - 1;
}

// `saps` that preempts: it may cancel as often as it took whole gradients up.
bool preempts(const Spec& spec) {
  return spec.name == "saps" &&
         (spec.options.empty() || spec.text.find("action") == std::string::npos ||
          spec.text.find("preempt") != std::string::npos);
}

Kept kept_by(const Spec& spec) {
  const Promise promise = promise_of(spec);
  const BarrierKind barrier = barrier_of(spec);
  Kept kept{
      .staleness_most = promise.staleness_by_workers ? 2 * (kRanks - 1) : promise.staleness_most,
      .slack = promise.ahead_most,
      .uncommitted_most = uncommitted_most(promise),
      .cancels =
          (is_of_rounds(barrier) && !waits_for_all(promise)) || barrier == BarrierKind::kLateOnes,
      .earns = preempts(spec),
      .wakes = barrier == BarrierKind::kBestCutoff};
  if (kept.earns && promise.staleness_most != kUnbounded) {
    kept.lag_most = promise.staleness_most - 1;
  }
  // What these two promise as long as nobody tells them of a loss, and a count is decided before.
  if (spec.name == "adasync") {
    kept.uncommitted_most = promises::first_option(spec) - 1;
  } else if (spec.text == "dynamic:decide=before,model=last,max=4") {
    kept.uncommitted_most = 3;
  }
  return kept;
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
        chooses_(spec == "auto"),
        phases_(phases_of(Spec::parse(spec))),
        kept_(kept_by(phases_.front().policy)),
        driver_(make(spec, balance, sets), most_of(spec, balance)),
        rng_(seed, 1) {}

  void run() {
    const int events = chooses_ ? kEventsOfAuto : kEvents;
    for (int i = 0; i < events && !testing::Test::HasFailure(); ++i) {
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

  // How often each phase has begun.
  [[nodiscard]] const std::map<std::uint32_t, int>& seams() const { return seams_; }

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
    const std::string& spec = edges()[rng_.below(edges().size())];
    phases_ = phases_of(Spec::parse(spec));
    chooses_ = false;
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
    } else if (rng_.below(chooses_ ? 200 : 20) == 0) {  // It learns nothing of who has just come.
      clocks_.erase(worker);
      driver_.leave(worker, static_cast<Departure>(rng_.below(3)), now_);
    } else if (driver_.computes(worker)) {
      // The more it computes, the longer it takes.
      if (!chooses_ || rng_.uniform() < 0.5 / driver_.worker(worker).share) {
        answer(worker);
      }
    } else if (rng_.below(2) == 0) {
      driver_.pass(TimerFired{}, now_);
      EXPECT_TRUE(kept_.wakes || driver_.last().actions.empty());
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
    const std::uint64_t version = driver_.version();
    const std::uint64_t staleness = version - state.version;
    driver_.arrive(worker, {.examples = examples, .nominal = 32, .partial = partial}, now_);
    if (driver_.count<Accept>() == 1) {
      EXPECT_LE(staleness, kept_.staleness_most);
      earned_ = partial ? earned_ : std::min(earned_ + 1, static_cast<int>(clocks_.size()));
    }
    if (chooses_ && driver_.version() != version) {
      check();  // What the arrival did; the norms are decided on by themselves.
      measure();
    }
  }

  // Noise between hardly any and nothing else, which comes and goes, and a loss that may rise.
  void measure() {
    const double noise = std::exp(8.0 * std::sin(to_seconds(now_.time_since_epoch()) / 100.0));
    const Version version{driver_.version()};
    driver_.pass(Measured{Measure::kTrainingLoss, 0.7 + 0.5 * rng_.uniform(), version}, now_);
    driver_.pass(Measured{Measure::kSingleGradientNorm, std::sqrt(1.0 + noise), version}, now_);
    driver_.pass(Measured{Measure::kGradientNorm, std::sqrt(1.0 + noise / 4.0), version}, now_);
    EXPECT_EQ(driver_.count<Switched>(), 0) << "it looks when something is decided";
  }

  void check() {
    for (const Action& action : driver_.last().actions) {
      if (const auto* release = std::get_if<Release>(&action)) {
        const std::uint64_t clock = clocks_.at(static_cast<std::uint32_t>(release->worker));
        EXPECT_LE(clock - least_clock(), kept_.slack);
      } else if (const auto* seam = std::get_if<Switched>(&action)) {
        kept_ = kept_by(phases_.at(seam->to).policy);
        ++seams_[seam->to];
        for (auto& [worker, clock] : clocks_) {
          clock = 0;
        }
      }
    }
    EXPECT_LE(driver_.uncommitted(), kept_.uncommitted_most);
    EXPECT_TRUE(kept_.cancels || driver_.count<Cancel>() == 0);
    std::uint64_t lag_most = 0;
    for (const CheckedDriver::Worker& state : driver_.workers()) {
      if (state.open && !state.cancelled) {
        lag_most = std::max(lag_most, driver_.version() - state.version);
      }
    }
    if (!kept_.earns) {
      EXPECT_LE(lag_most, kept_.lag_most);
    } else if (sets_ == Sets::kNothing && phases_.size() == 1) {  // A seam holds releases back.
      earned_ -= driver_.count<Cancel>();
      EXPECT_GE(earned_, 0);
      EXPECT_TRUE(lag_most <= kept_.lag_most || earned_ == 0);
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
  bool chooses_;  // It is `auto`, which hears what the server measures; others promise less then.
  std::vector<Phase> phases_;  // The policy's; a Switched names one by its index.
  Kept kept_;                  // What the present phase promises.
  CheckedDriver driver_;
  Rng rng_;
  Time now_{};
  std::map<std::uint32_t, int> seams_;
  int earned_ = 0;  // Cancellations.
  std::map<std::uint32_t, std::uint64_t>
      clocks_;  // Finished iterations of the live, as SSP has it.
};

TEST(EveryPolicy, KeepsTheContractAndItsPromise) {
  for (const std::string& spec : tried()) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(spec + ", seed " + std::to_string(seed));
      RandomRun(spec, seed).run();
      if (HasFailure()) {
        return;
      }
    }
  }
}

TEST(EveryPolicy, ThatChoosesChangesInTheseRuns) {
  std::map<std::uint32_t, int> seams;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomRun run("auto", seed);
    run.run();
    for (const auto& [phase, times] : run.seams()) {
      seams[phase] += times;
    }
  }
  EXPECT_GT(seams[0], 0) << "dynamic, again";
  EXPECT_GT(seams[1], 5) << "its other objective";
  EXPECT_GT(seams[3], 5) << "saps";
  EXPECT_GT(seams[6], 5) << "balanced mini-batches";
}

TEST(EveryPolicy, MayBeFollowedByAnyOther) {
  for (const std::string& spec : tried()) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      SCOPED_TRACE(spec + ", seed " + std::to_string(seed));
      const auto balance = seed % 2 == 0 ? std::nullopt : std::optional(BalanceOptions{});
      RandomRun(spec, seed, balance, Sets::kOthers).run();
      if (HasFailure()) {
        return;
      }
    }
  }
}

TEST(EveryPolicy, KeepsThemWithBalancedMiniBatches) {
  for (const std::string& spec : tried()) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(spec + ", seed " + std::to_string(seed));
      RandomRun(spec, seed, BalanceOptions{}).run();
      if (HasFailure()) {
        return;
      }
    }
  }
}

}  // namespace
}  // namespace outpace::policy
