// The invariants of every policy's decisions. They hold under every driver: a simulator, a live
// server, or the record of a run.
//
//   I3   a gradient that counts is no staler than the policy promises (not at all in rounds), and
//        nobody is released further ahead of the slowest that lives than it promises
//   I5   while anybody is live, somebody computes, or a timer is set
//   I6   nobody that is gone is released, answers, or is waited for
//   I10  versions count the commits, and never go back
//   I17  weights and shares lie in (0, 1], and in (0, most] where they are balanced; nothing is
//        waited for beyond what the live can give
//
// Under a switch each phase is held to what its policy promises, from the seam on, where iterations
// count anew; at the seam itself
//
//   I18  nobody computes and nothing waits for an update, which alone may be a smaller one
//
// What a policy promises stands in its entry of the catalogue.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/spec.h"
#include "base/time.h"
#include "policy/catalogue.h"
#include "policy/policy.h"
#include "policy/promise.h"
#include "policy/switch_spec.h"

namespace outpace::invariants {

class Decisions {
 public:
  // Throws a usage error if there is no such policy, or it is a switch not of a switch's form.
  Decisions(const Spec& policy, std::uint32_t workers, const policy::PolicyInputs& inputs = {});

  // The policy was told `event`, and decided on `actions`. Throws Violation.
  void check(Time now, const policy::Event& event, std::span<const policy::Action> actions);

  // As Coordination::restarted().
  void restarted();

  [[nodiscard]] std::uint64_t commits() const { return commits_; }

 private:
  struct Worker {
    bool live = false;
    bool open = false;          // It computes a release,
    bool asked = false;         // and was asked for its part of it.
    std::uint64_t version = 0;  // Commits at its last release.
    std::uint64_t clock = 0;    // Iterations, as ssp counts them.
  };

  void take_in(const policy::Event& event);
  void join(WorkerId worker);
  void leave(WorkerId worker);
  void end(WorkerId worker, const char* how);
  void arrived(const policy::GradientArrived& gradient);
  void verdict(const policy::Event& event, WorkerId worker, Sequence release);
  void accepted(const policy::Event& event, const policy::Accept& accept);
  void committed(bool at_seam);
  void released(const policy::Release& release);
  void cancelled(const policy::Cancel& cancel);
  void switched(const policy::Switched& seam);
  void at_rest(const policy::Event& event);
  Worker& live(WorkerId worker, const char* what);
  [[nodiscard]] std::uint64_t least_clock() const;
  // The update waits for a part that somebody hands in.
  [[nodiscard]] bool awaits_part() const;
  // Gradients that an update takes when it has to wait for no more.
  [[nodiscard]] std::uint64_t awaited() const;

  std::vector<policy::Phase> phases_;  // The policy's; a Switched names one by its index.
  policy::Promise promise_;            // The present phase's.
  const double given_share_most_;
  const double auto_share_most_;  // Where `auto` balances.
  double share_most_;             // Under the policy in force.
  const bool hand_ins_;           // Parts are taken up beside what the cutoff waits for.
  std::vector<Worker> workers_;
  std::uint64_t live_ = 0;
  std::uint64_t open_ = 0;
  std::uint64_t accepted_ = 0;  // Since the last commit.
  std::uint64_t commits_ = 0;
  std::optional<std::uint64_t> first_version_;  // A run may go on from a checkpoint.
  bool timer_ = false;
  int verdicts_ = 0;  // On the current gradient.
};

}  // namespace outpace::invariants
