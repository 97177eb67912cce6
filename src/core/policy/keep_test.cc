// Every policy, kept and read again into a new one: it decides as the first does after all workers
// have left.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/kept_test.h"
#include "base/rng.h"
#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

constexpr std::uint32_t kKeptWorkers = 6;
constexpr int kKeptEvents = 150;
constexpr int kKeptEventsOfAuto = 900;  // It looks rarely.

std::string in_words(const Decision& decision) {
  std::string text;
  for (const Action& action : decision.actions) {
    text += std::to_string(action.index());
    if (const auto* accept = std::get_if<Accept>(&action)) {
      text += ":" + std::to_string(index(accept->worker)) + "x" + std::to_string(accept->weight);
    } else if (const auto* release = std::get_if<Release>(&action)) {
      text += ":" + std::to_string(index(release->worker)) + "x" + std::to_string(release->share);
    } else if (const auto* cancel = std::get_if<Cancel>(&action)) {
      text += ":" + std::to_string(index(cancel->worker));
    } else if (const auto* wake = std::get_if<WakeAt>(&action)) {
      text += ":" + std::to_string(wake->time.time_since_epoch().count());
    }
    text += " ";
  }
  return text;
}

// Decides by one policy; once there is another, holds it to decide the same.
class Beside final : public Policy {
 public:
  Beside(std::unique_ptr<Policy> first, std::unique_ptr<Policy>& other)
      : first_(std::move(first)), other_(other) {}

  void decide(Time now, const Event& event, Decision& out) override {
    first_->decide(now, event, out);
    if (other_) {
      Decision same;
      other_->decide(now, event, same);
      EXPECT_EQ(in_words(out), in_words(same)) << "at " << to_seconds(now) << " s";
    }
  }
  void keep(Archive& archive) override { first_->keep(archive); }
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override {
    return first_->nominal_cutoff(workers);
  }

 private:
  std::unique_ptr<Policy> first_;
  std::unique_ptr<Policy>& other_;
};

class Life {
 public:
  Life(const std::string& spec, const std::optional<BalanceOptions>& balance, std::uint64_t seed)
      : spec_(Spec::parse(spec)), balance_(balance), rng_(seed, 0) {}

  void run() {
    auto made = std::make_unique<Beside>(make(), other_);
    Policy& policy = *made;
    CheckedDriver driver(std::move(made), most_of(spec_.name, balance_));
    live(driver);
    MemoryArchive tape;
    policy.keep(tape);
    std::unique_ptr<Policy> read = make();
    tape.rewind();
    read->keep(tape);
    EXPECT_TRUE(tape.at_end());
    for (std::uint32_t worker = 0; worker < kKeptWorkers; ++worker) {
      if (worker < driver.workers().size() && driver.worker(worker).live) {
        driver.leave(worker, Departure::kDead, now_);
      }
    }
    other_ = std::move(read);
    now_ += from_seconds(5.0);
    live(driver);
  }

 private:
  std::unique_ptr<Policy> make() {
    return make_settable_policy(spec_, kKeptWorkers, {.balance = balance_});
  }

  void live(CheckedDriver& driver) {
    for (std::uint32_t worker = 0; worker < kKeptWorkers; ++worker) {
      driver.join(worker, now_);
    }
    const int events = spec_.name == "auto" ? kKeptEventsOfAuto : kKeptEvents;
    for (int i = 0; i < events; ++i) {
      now_ += from_seconds(rng_.exponential());
      const auto worker = static_cast<std::uint32_t>(rng_.below(kKeptWorkers));
      if (rng_.below(30) == 0) {
        const auto version = Version{driver.version()};
        const double loss = 1.0 + rng_.uniform();
        driver.pass(Measured{Measure::kTestLoss, loss, version}, now_);
        driver.pass(Measured{Measure::kTrainingLoss, loss, version}, now_);
      }
      if (driver.computes(worker)) {
        const std::uint64_t before = driver.version();
        driver.arrive(worker, {}, now_);
        if (driver.version() != before) {
          measure_norms(driver);
        }
      }
    }
    // What was accepted since the last commit is not kept.
    for (int i = 0; driver.uncommitted() > 0 && i < 100; ++i) {
      now_ += from_seconds(1.0);
      for (std::uint32_t worker = 0; worker < kKeptWorkers && driver.uncommitted() > 0; ++worker) {
        if (driver.computes(worker)) {
          driver.arrive(worker, {}, now_);
        }
      }
    }
    ASSERT_EQ(driver.uncommitted(), 0U);
    // Nor does a seam that is under way wait for who has left; KeptSwitch has that.
    for (int i = 0; changes(driver) && i < 100; ++i) {
      now_ += from_seconds(1.0);
      const auto worker = static_cast<std::uint32_t>(i) % kKeptWorkers;
      if (driver.computes(worker)) {
        driver.arrive(worker, {}, now_);
      }
    }
    ASSERT_FALSE(changes(driver));
  }

  [[nodiscard]] static bool changes(const CheckedDriver& driver) {
    const Why why = driver.last().reason.why;
    return why == Why::kSwitching || why == Why::kMoreExpected || why == Why::kTried ||
           why == Why::kLossRose;
  }

  void measure_norms(CheckedDriver& driver) {
    const auto version = Version{driver.version()};
    const double mean = 1.0 + rng_.uniform();
    driver.pass(Measured{Measure::kSingleGradientNorm, 3.0, version}, now_);
    driver.pass(Measured{Measure::kGradientNorm, mean, version}, now_);
  }

  const Spec spec_;
  const std::optional<BalanceOptions> balance_;
  Rng rng_;
  Time now_{};
  std::unique_ptr<Policy> other_;
};

class KeptPolicy : public testing::TestWithParam<std::string> {};

TEST_P(KeptPolicy, DecidesAsTheOneWhoseWorkersLeft) {
  for (std::uint64_t seed = 0; seed < 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Life(GetParam(), std::nullopt, seed).run();
  }
}

std::vector<std::string> drawn_of_each() {
  std::vector<std::string> specs;
  Rng rng(9, 0);
  for (const Entry& entry : catalogue()) {
    specs.push_back(draw_spec(entry, rng, kKeptWorkers));
  }
  return specs;
}

INSTANTIATE_TEST_SUITE_P(Drawn, KeptPolicy, testing::ValuesIn(drawn_of_each()));

INSTANTIATE_TEST_SUITE_P(
    All,
    KeptPolicy,
    testing::Values("sync",
                    "backup:cutoff=4",
                    "dynamic:model=last",
                    "dynamic:model=ewma",
                    "dynamic:model=switching",
                    "dynamic",
                    "dynamic:decide=before,model=last",
                    "dynamic:imputation=truncated,model=elfving-truncated",
                    "dynamic:decide=deadline,model=ewma",
                    "dynamic:model=elfving",
                    "async",
                    "softsync:n=2",
                    "ksync:k=4",
                    "kbatchsync:k=4",
                    "kasync:k=4",
                    "kbatchasync:k=4",
                    "adasync:k=3",
                    "adasync:k=3,loss=test",
                    "dssp:low=1,high=4",
                    "psp:beta=2,s=1",
                    "ssp:s=3",
                    "saps:s=7,action=refresh",
                    "saps:s=7,action=preempt",
                    "saps",
                    "saps:s=2x,action=refresh",
                    "saps:s=7,action=shrink",
                    "saps:s=2,action=dampen",
                    "switch(async until updates>10 then sync until updates>300 then ssp:s=3)"));

TEST(KeptBalance, DecidesAsTheOneWhoseWorkersLeft) {
  for (std::uint64_t seed = 0; seed < 20 && !testing::Test::HasFailure(); ++seed) {
    Life("sync", BalanceOptions{}, seed).run();
    Life("async", BalanceOptions{}, seed).run();
  }
}

TEST(KeptSwitch, HasThePolicyThatWasSetMeanwhile) {
  const auto make = [] { return make_settable_policy(Spec::parse("async"), kKeptWorkers, {}); };
  std::unique_ptr<Policy> first = make();
  Decision decision;
  first->decide(at(0), WorkerJoined{WorkerId{0}}, decision);
  first->decide(at(1), PolicySet{"ssp:s=3"}, decision);  // Drains: worker 0 still computes.
  std::unique_ptr<Policy> read = make();
  copy_kept(*first, *read);
  read->decide(at(2), WorkerJoined{WorkerId{1}}, decision);
  EXPECT_TRUE(std::ranges::any_of(decision.actions, [](const Action& action) {
    return std::holds_alternative<Switched>(action);
  }));
}

}  // namespace
}  // namespace outpace::policy
