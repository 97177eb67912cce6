#include "record/recorded_policies.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/error.h"
#include "base/spec.h"
#include "policy/auto_candidates.h"
#include "policy/switch_spec.h"

namespace outpace::record {
namespace {

std::string first_of(const std::string& policy) {
  return policy == policy::kAuto ? std::string(policy::kAutoCandidates.front().policy) : policy;
}

}  // namespace

RecordedPolicies::RecordedPolicies(const std::string& policy)
    : given_(policy), first_(first_of(policy)) {
  auto_decides_ = chosen_ = policy == policy::kAuto;
}

void RecordedPolicies::follow(const LoggedDecision& decision, Time now) {
  end_ = now;
  if (const auto* given = std::get_if<policy::PolicySet>(&decision.event)) {
    return set(now, std::string(given->policy));
  }
  for (const policy::Action& action : decision.actions) {
    const auto* seam = std::get_if<policy::Switched>(&action);
    if (seam != nullptr && !std::exchange(awaits_seam_, false) && auto_decides_) {
      choose(now, seam->to);
    }
  }
}

void RecordedPolicies::set(Time at, const std::string& policy) {
  changes_.push_back({.at = at, .policy = first_of(policy)});
  auto_decides_ = policy == policy::kAuto;
  chosen_ = chosen_ || auto_decides_;
  awaits_seam_ = true;
}

void RecordedPolicies::choose(Time at, std::uint32_t candidate) {
  if (candidate >= policy::kAutoCandidates.size()) {
    return;
  }
  const policy::AutoCandidate& chosen = policy::kAutoCandidates.at(candidate);
  changes_.push_back({.at = at, .policy = std::string(chosen.policy), .balanced = chosen.balance});
}

void RecordedPolicies::mostly(const std::string& candidate) {
  if (lost_ && chosen_) {
    mostly_ = candidate;
  }
}

std::string RecordedPolicies::policy(std::vector<std::string>& notes) const {
  if (!mostly_.empty()) {
    notes.push_back(
        "its policy was chosen in the run, and changed outside the sample; it is "
        "replayed as " +
        mostly_ + " from end to end");
    return mostly_.substr(0, mostly_.find(" --"));
  }
  if (std::ranges::any_of(changes_, &Change::balanced)) {
    notes.push_back(std::string("`auto` balanced its mini-batches for a time; it is replayed ") +
                    (mostly_balanced() ? "with that from end to end" : "without that"));
  }
  if (changes_.empty()) {
    return first_;
  }
  std::string phases = "switch(" + first_;
  for (const Change& change : changes_) {
    phases += fmt::format(" until seconds>{:.3f} then {}", to_seconds(change.at), change.policy);
  }
  phases += ")";
  try {
    (void)policy::phases_of(Spec::parse(phases));
    return phases;
  } catch (const Error&) {  // One of them has phases of its own.
    notes.push_back("its policy was changed; it is replayed as " + given_ + " from end to end");
    return given_;
  }
}

bool RecordedPolicies::mostly_balanced() const {
  if (!mostly_.empty()) {
    return mostly_.ends_with(" --balance");
  }
  Duration balanced{};
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const Time until = i + 1 < changes_.size() ? changes_[i + 1].at : end_;
    balanced += changes_[i].balanced ? until - changes_[i].at : Duration{};
  }
  return 2 * balanced > end_.time_since_epoch();
}

}  // namespace outpace::record
