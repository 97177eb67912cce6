// What stands in a switch: "async until loss<0.6 then sync until updates>2000 then ssp:s=3".
//
//   phases    := policy { 'until' condition 'then' policy }
//   condition := quantity ('<' | '>') number
//   quantity  := 'loss' | 'test-loss' | 'test-accuracy' | 'updates' | 'seconds'

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spec.h"
#include "policy/auto_candidates.h"

namespace outpace::policy {

inline constexpr const char* kSwitchForm = "switch(POLICY until CONDITION then POLICY)";

enum class Watched : std::uint8_t {
  kTrainingLoss,  // The mean over some 50 gradients, after every update.
  kTestLoss,      // As the evaluator measures it; so is the next.
  kTestAccuracy,
  kUpdates,  // Since the run began; so are the seconds.
  kSeconds
};

struct Condition {
  Watched what;
  bool above;  // The bound; else below it. Never at it.
  double bound;

  [[nodiscard]] bool holds_at(double value) const { return above ? value > bound : value < bound; }
  bool operator==(const Condition&) const = default;
};

struct Phase {
  Spec policy;
  std::optional<Condition> until;  // The last one has none.
  bool balance = false;            // It has balanced mini-batches, without --balance (auto.h).

  // Its name, for people.
  [[nodiscard]] std::string words() const {
    return balance ? policy.text + " --balance" : policy.text;
  }
};

// What may be in force: the phases of a switch, one after another, or the candidates of `auto` in
// any order; any other policy is its own one phase. Throws a usage error if it is not
// of the form above; whether there are such policies, make_policy (catalogue.h) finds out.
[[nodiscard]] std::vector<Phase> phases_of(const Spec& policy);
// The same, where `auto` is a policy as any other.
[[nodiscard]] std::vector<Phase> chain_of(const Spec& policy);
[[nodiscard]] Phase candidate_phase(const AutoCandidate& candidate);

// True if a phase ends by what only learning gives, a loss or an accuracy; and of `auto`, which
// needs gradients.
[[nodiscard]] bool waits_for_learning(const Spec& policy);
// True if a phase ends by what an evaluator measures: the test loss or accuracy.
[[nodiscard]] bool waits_for_evaluator(const Spec& policy);
// True if a phase ends by the test loss, or is an `adasync:loss=test`.
[[nodiscard]] bool waits_for_test_loss(const Spec& policy);

}  // namespace outpace::policy
