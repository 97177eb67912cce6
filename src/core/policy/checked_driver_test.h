// A driver for tests: carries decisions out and holds each of them to the contract of policy.h.

#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/spec.h"
#include "policy/auto_candidates.h"
#include "policy/catalogue.h"
#include "policy/policy.h"

namespace outpace::policy {

inline Time at(double seconds) {
  return Time{from_seconds(seconds)};
}

// How large mini-batches may be: `auto` balances them by itself where nothing is given.
inline std::optional<BalanceOptions> most_of(const std::string& policy,
                                             const std::optional<BalanceOptions>& given) {
  return policy == "auto" && !given ? std::optional(kAutoBalance) : given;
}

class CheckedDriver {
 public:
  struct Worker {
    bool live = false;
    bool open = false;  // It computes a release.
    bool cancelled = false;
    bool keep_part = false;  // The cancellation asked for the part that is done.
    Sequence sequence{};
    std::uint64_t version = 0;  // At its last release.
    double share = 1.0;
    Time released{};
  };

  struct Gradient {
    std::uint32_t examples = 32;
    std::uint32_t nominal = 32;
    bool partial = false;
  };

  // `balance` is what the policy was made with, or most_of it.
  explicit CheckedDriver(std::unique_ptr<Policy> policy,
                         const std::optional<BalanceOptions>& balance = std::nullopt)
      : policy_(std::move(policy)), share_most_(balance ? balance->most : 1.0) {}
  CheckedDriver(const std::string& spec,
                std::uint32_t workers,
                const std::optional<BalanceOptions>& balance = std::nullopt)
      : CheckedDriver(make_policy(Spec::parse(spec), workers, {.balance = balance}), balance) {}

  const Decision& join(std::uint32_t worker, Time now = {}) {
    if (worker >= workers_.size()) {
      workers_.resize(worker + 1);
    }
    EXPECT_FALSE(workers_[worker].live);
    workers_[worker] = {.live = true};
    ++live_;
    return carry_out(now, WorkerJoined{WorkerId{worker}});
  }

  // Workers 0 to count - 1.
  void join_all(std::uint32_t count) {
    for (std::uint32_t worker = 0; worker < count; ++worker) {
      join(worker);
    }
  }

  const Decision& leave(std::uint32_t worker, Departure how = Departure::kLeft, Time now = {}) {
    open_ -= workers_.at(worker).open ? 1U : 0U;
    workers_[worker] = {};
    --live_;
    return carry_out(now, WorkerLeft{WorkerId{worker}, how});
  }

  // The answer to the worker's open release.
  const Decision& arrive(std::uint32_t worker, Gradient gradient, Time now) {
    Worker& state = answered(worker);
    return carry_out(now,
                     GradientArrived{.worker = WorkerId{worker},
                                     .release = state.sequence,
                                     .computed_on = Version{kFirstVersion + state.version},
                                     .examples = gradient.examples,
                                     .nominal = gradient.nominal,
                                     .partial = gradient.partial,
                                     .runtime = now - state.released});
  }
  const Decision& arrive(std::uint32_t worker) { return arrive(worker, Gradient{}, Time{}); }

  const Decision& end(std::uint32_t worker, Ending how, Time now = {}) {
    const Sequence release = answered(worker).sequence;
    return carry_out(now, ReleaseEnded{WorkerId{worker}, release, how});
  }

  const Decision& pass(const Event& event, Time now = {}) { return carry_out(now, event); }

  [[nodiscard]] const Decision& last() const { return decision_; }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::uint32_t uncommitted() const { return uncommitted_; }
  [[nodiscard]] const std::vector<Worker>& workers() const { return workers_; }
  [[nodiscard]] const Worker& worker(std::uint32_t worker) const { return workers_.at(worker); }
  [[nodiscard]] const Policy& policy() const { return *policy_; }
  [[nodiscard]] bool computes(std::uint32_t worker) const {
    return worker < workers_.size() && workers_[worker].open;
  }

  // How many actions of this kind the last decision has.
  template <typename Kind>
  [[nodiscard]] int count() const {
    int found = 0;
    for (const Action& action : decision_.actions) {
      found += std::holds_alternative<Kind>(action) ? 1 : 0;
    }
    return found;
  }

  // The first action of this kind. REQUIRES: there is one.
  template <typename Kind>
  [[nodiscard]] Kind first() const {
    for (const Action& action : decision_.actions) {
      if (const auto* kind = std::get_if<Kind>(&action)) {
        return *kind;
      }
    }
    ADD_FAILURE() << "no such action";
    return {};
  }

 private:
  // A server that goes on from a checkpoint does not begin at 0; no policy may assume it.
  static constexpr std::uint64_t kFirstVersion = 1000;

  Worker& answered(std::uint32_t worker) {
    Worker& state = workers_.at(worker);
    EXPECT_TRUE(state.open);
    state.open = false;
    --open_;
    return state;
  }

  const Decision& carry_out(Time now, const Event& event) {
    policy_->decide(now, event, decision_);
    int verdicts = 0;
    for (const Action& action : decision_.actions) {
      if (const auto* accept = std::get_if<Accept>(&action)) {
        EXPECT_TRUE(std::isfinite(accept->weight) && accept->weight > 0 &&
                    accept->weight <= share_most_);
        verdicts += answers(event, accept->worker, accept->release);
        ++uncommitted_;
      } else if (const auto* drop = std::get_if<Drop>(&action)) {
        EXPECT_NE(drop->why, Why::kNone);
        verdicts += answers(event, drop->worker, drop->release);
      } else if (std::holds_alternative<Commit>(action)) {
        EXPECT_GE(uncommitted_, 1U);
        uncommitted_ = 0;
        ++version_;
      } else if (const auto* release = std::get_if<Release>(&action)) {
        open(*release, now);
      } else if (const auto* cancel = std::get_if<Cancel>(&action)) {
        Worker& state = workers_.at(index(cancel->worker));
        EXPECT_TRUE(state.live && state.open && !state.cancelled);
        state.cancelled = true;
        state.keep_part = cancel->keep_part;
      } else if (std::holds_alternative<Switched>(action)) {
        EXPECT_EQ(open_, 0U) << "nobody computes at the seam";
        EXPECT_EQ(uncommitted_, 0U) << "nothing waits for an update at the seam";
      }
    }
    EXPECT_EQ(verdicts, std::holds_alternative<GradientArrived>(event) ? 1 : 0);
    EXPECT_EQ(live_ > 0, open_ > 0) << "somebody computes while somebody is live";
    return decision_;
  }

  void open(const Release& release, Time now) {
    Worker& state = workers_.at(index(release.worker));
    EXPECT_TRUE(state.live && !state.open);
    EXPECT_TRUE(release.share > 0 && release.share <= share_most_);
    ++open_;
    sequence_ = Sequence{number(sequence_) + 1};
    state = {.live = true,
             .open = true,
             .sequence = sequence_,
             .version = version_,
             .share = release.share,
             .released = now};
  }

  static int answers(const Event& event, WorkerId worker, Sequence release) {
    const auto* gradient = std::get_if<GradientArrived>(&event);
    EXPECT_TRUE(gradient != nullptr && gradient->worker == worker && gradient->release == release);
    return 1;
  }

  std::unique_ptr<Policy> policy_;
  double share_most_ = 1.0;
  Decision decision_;
  std::vector<Worker> workers_;
  std::uint32_t live_ = 0;
  std::uint32_t open_ = 0;
  Sequence sequence_{};
  std::uint64_t version_ = 0;  // Commits so far.
  std::uint32_t uncommitted_ = 0;
};

}  // namespace outpace::policy
