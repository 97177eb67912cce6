// One policy until a condition holds or somebody sets another, then that one, in the same run.
//
// The seam drains: from the moment that the condition holds nobody is released, and the old policy
// goes on deciding about what is computed still. When nobody computes, what it had taken up for an
// update is that update, if there is any; then the new policy is told of every live worker as of
// one that joins, at the version of the seam. So
//
//   - every gradient is accepted or dropped by the rule under which it was released;
//   - under the new policy nothing was computed before the seam: its bounds hold from its first
//     update on;
//   - the seam waits only for workers that compute, and each of them answers or leaves; a worker
//     that joins meanwhile waits for the seam.
//
// The seam costs what the slowest has left of its mini-batch: at most a barrier of sync. Where the
// old policy has just ended a round that all took part in, nobody computes, and it costs nothing.
//
// Li et al., "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep Learning" (ICDCS
// 2021), switch once, from sync to async; conditions, chains and the seam are ours.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/spec.h"
#include "policy/catalogue.h"
#include "policy/members.h"
#include "policy/policy.h"
#include "policy/switch_spec.h"

namespace outpace::policy {

class Switch final : public Policy {
 public:
  // A switch, or any other policy, which PolicySet may replace. Throws a usage error on anything
  // wrong; so does decide() if PolicySet says something that make_policy() refuses.
  // `fitted`: for policies that make use of it (catalogue.h).
  Switch(const Spec& policy, std::uint32_t workers, const PolicyInputs& inputs = {});

  void decide(Time now, const Event& event, Decision& out) override;
  void keep(Archive& archive) override;

  [[nodiscard]] std::optional<std::string> take_warning() override {
    return present_->take_warning();
  }

  // The present policy's. Drivers ask once: the unit of --lr-scale stays the first policy's.
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override {
    return present_->nominal_cutoff(workers);
  }
  [[nodiscard]] bool asks_for_parts() const override { return present_->asks_for_parts(); }
  [[nodiscard]] bool asks_for_norms() const override { return present_->asks_for_norms(); }
  [[nodiscard]] bool outlook(Outlook& out) const override { return present_->outlook(out); }
  [[nodiscard]] bool expectations(Expectations& out) const override {
    return present_->expectations(out);
  }
  [[nodiscard]] bool asks_for_training_loss() const override {
    return present_->asks_for_training_loss() ||
           (!draining_ && until_ && until_->what == Watched::kTrainingLoss);
  }

 private:
  struct Worker {
    bool computing = false;
  };
  struct Coming {
    std::unique_ptr<Policy> policy;
    std::optional<Condition> until;
  };

  void plan(const Spec& policy);
  // The first of those that come is the present one.
  void advance();
  void go_to(std::uint32_t phase);
  // Keeps count of the workers that are live and of those that compute.
  void take_in(const Event& event);
  // Counts updates, and keeps in mind whether accepted gradients wait for a commit.
  void follow(const Decision& decision);
  // Until the seam: releases nobody, and cancels only workers that compute.
  void hold_back(Decision& out);
  void hand_over(Time now, Decision& out);
  // `event` shows that the condition holds.
  [[nodiscard]] bool met(Time now, const Event& event) const;

  // Constant after construction.
  const std::uint32_t workers_planned_;
  const PolicyInputs inputs_;  // Its phases', without balance.

  std::string phase_;  // The spec of which the present policy is phase at_.
  std::uint32_t at_ = 0;
  std::string planned_;  // The spec that coming_ is of.
  std::unique_ptr<Policy> present_;
  std::optional<Condition> until_;  // Ends the present phase.
  std::vector<Coming> coming_;      // The phases; those before next_ are empty.
  std::uint32_t next_ = 0;
  bool draining_ = false;
  Members<Worker> workers_;
  std::uint32_t computing_ = 0;
  std::uint64_t updates_ = 0;
  bool uncommitted_ = false;  // Something was accepted since the last commit.
  Decision welcome_;          // Used within a call; kept for its memory.
};

}  // namespace outpace::policy
