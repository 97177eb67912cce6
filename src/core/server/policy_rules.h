// What comes with the policy in force: how its stale gradients are weighed, and whether they are
// stale at all. A switch has such rules for each of its phases, and another policy brings its own;
// a staleness rule that the user gave holds under all of them.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.h"
#include "base/spec.h"
#include "policy/catalogue.h"
#include "update/filter.h"
#include "update/staleness.h"

namespace outpace::server {

// The workers that a run begins with, and those that it may grow to.
struct PlannedWorkers {
  std::uint32_t first = 1;
  std::uint32_t most = 1;
};

// Throws a usage error if the filter would be useless under any phase of the policy, or if there is
// no such policy. `inputs`: what it is made with. `stale`: the staleness rule in force.
void check_filter(const update::FilterRule& filter,
                  const Spec& policy,
                  const PlannedWorkers& workers,
                  const policy::PolicyInputs& inputs,
                  const update::StalenessRule& stale);

class PolicyRules {
 public:
  // Begins with the first phase. `policy`: nothing where no default is wanted: every gradient then
  // counts in full, and none is taken for stale. `given`: nothing if each policy has its own.
  PolicyRules(const std::optional<Spec>& policy, std::optional<update::StalenessRule> given);

  // These phases come. Throws a usage error if there is no such policy.
  void set(std::string_view policy);
  // The seam: from here on this phase of the policy that was set last is in force.
  void switch_to(std::uint32_t phase);

  [[nodiscard]] const update::StalenessRule& staleness() const { return staleness_; }
  [[nodiscard]] bool asynchronous() const { return asynchronous_; }
  // Why the rule that was given does not fit the policy in force, for the user; nothing if it does.
  [[nodiscard]] std::optional<std::string> misfit() const;

  void keep(Archive& archive);

 private:
  void take_up(const std::string& phase);

  const std::optional<update::StalenessRule> given_;
  std::string set_;       // The policy that was set last,
  std::string in_force_;  // and the phase that decides; of one set before, until the seam.
  std::vector<std::string> phases_;
  update::StalenessRule staleness_;
  bool asynchronous_ = false;
};

}  // namespace outpace::server
