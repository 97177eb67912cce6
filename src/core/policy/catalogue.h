// The list of all policies: what each is called, what it is, and how to make one from a spec.
//
// A new policy is one file and one entry in catalogue.cc; CONTRIBUTING.md walks through it. All
// that predictions, invariants, random jobs and tests ask about a policy stands in its entry.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/option_doc.h"
#include "base/rng.h"
#include "base/spec.h"
#include "policy/auto_candidates.h"
#include "policy/balance.h"
#include "policy/barrier.h"
#include "policy/policy.h"
#include "policy/promise.h"
#include "runtime_model/deep_weights.h"

namespace outpace::policy {

// What a policy may be made with beside its spec.
struct PolicyInputs {
  // Mini-batches are in proportion to the workers' speeds.
  std::optional<BalanceOptions> balance = std::nullopt;
  // They are already, outside of this policy. No policy is to balance them again.
  bool balanced_outside = false;
  // How far `auto` may balance them by itself; to 1: not at all.
  BalanceOptions may_balance = kAutoBalance;
  // The optimizer's steps are as long whatever the gradient's length is, as adam's. A
  // script's is heard of later (Measure::kScaleInvariant).
  bool scale_invariant = false;
  // The deep runtime model that was fitted earlier, for `dynamic`; null if there is none.
  std::shared_ptr<const runtime_model::DeepWeights> fitted = nullptr;
  // Mini-batches in a release. A worker that is cut off hands in those that it has done
  // (hand_ins.h). 0: a release is one mini-batch, whole or nothing.
  std::uint32_t local_steps = 0;
};

// Nothing here has a default, and its functions are references: an entry that leaves one out does
// not compile.
struct Entry {
  std::string name;
  std::string rule;    // One sentence.
  std::string source;  // Author, title, year, section.
  // What makes a worker wait. Predictions depend on it.
  BarrierKind (&barrier)(const Spec& spec);
  // What invariants/ holds every run to. A switch has none, because each of its phases has its own.
  Promise (&promise)(const Spec& spec);
  // Options at random, for this number of workers: what random jobs and tests try.
  std::string (&draw)(Rng& rng, std::uint32_t workers);
  // The gradients of one update are kept in slots and reduced in worker order at the commit, so
  // that a run is repeatable to the bit.
  bool keeps_slots;
  // The rule that weighs stale gradients unless the user names another (default_staleness).
  std::string staleness;
  std::vector<OptionDoc> options;
  // `workers` is the planned number, against which options are checked.
  std::unique_ptr<Policy> (&make)(SpecReader& options,
                                  std::uint32_t workers,
                                  const PolicyInputs& inputs);
};

[[nodiscard]] std::span<const Entry> catalogue();

// Throws a usage error that names the nearest policy if there is none of that name.
[[nodiscard]] const Entry& find(const std::string& name);

// Reads every option, refuses the unknown ones. Throws a usage error on anything wrong.
[[nodiscard]] std::unique_ptr<Policy> make_policy(const Spec& spec,
                                                  std::uint32_t workers,
                                                  const PolicyInputs& inputs = {});

// As make_policy; and PolicySet replaces it by another.
[[nodiscard]] std::unique_ptr<Policy> make_settable_policy(const Spec& spec,
                                                           std::uint32_t workers,
                                                           const PolicyInputs& inputs = {});

// What makes a worker wait under a policy that make_policy() accepts.
[[nodiscard]] BarrierKind barrier_of(const Spec& spec);

// What a policy that make_policy() accepts promises. REQUIRES: it is no switch; one of a switch's
// phases may be asked for.
[[nodiscard]] Promise promise_of(const Spec& phase);

// The policy with random options; and any policy but a switch.
[[nodiscard]] std::string draw_spec(const Entry& entry, Rng& rng, std::uint32_t workers);
[[nodiscard]] std::string draw_phase(Rng& rng, std::uint32_t workers);

// True if the policy, or one of a switch's, can make use of PolicyInputs::fitted.
[[nodiscard]] bool uses_fitted_model(const Spec& spec);

// The rule that weighs stale gradients under this policy unless the user names another, and whether
// gradients may be stale at all. Throws a usage error if there is no such policy. REQUIRES: it is
// no switch, but one of a switch's phases may be asked for.
[[nodiscard]] const std::string& default_staleness(const Spec& phase);
[[nodiscard]] bool is_asynchronous(const Spec& phase);

// True if the policy, or one of a switch's, weights stale gradients itself (saps:action=dampen), so
// that the staleness rule must not be multiplied in again.
[[nodiscard]] bool weighs_staleness_itself(const Spec& spec);

}  // namespace outpace::policy
