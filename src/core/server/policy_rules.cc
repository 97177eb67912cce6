#include "server/policy_rules.h"

#include <algorithm>

#include "base/error.h"
#include "policy/catalogue.h"
#include "policy/switch_spec.h"

namespace outpace::server {
namespace {

using Kind = update::StalenessRule::Kind;

bool is_one_of(Kind kind, std::initializer_list<Kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

}  // namespace

void check_filter(const update::FilterRule& filter,
                  const Spec& policy,
                  const PlannedWorkers& workers,
                  const policy::PolicyInputs& inputs,
                  const update::StalenessRule& stale) {
  if (filter.kind() == update::FilterRule::Kind::kNone) {
    return;
  }
  const std::vector<policy::Phase> phases = policy::phases_of(policy);
  for (const policy::Phase& phase : phases) {
    const bool alone = phases.size() == 1;
    update::check_suits(
        filter,
        {.policy = alone ? policy.text : policy.text + " (" + phase.words() + ")",
         .asynchronous = policy::is_asynchronous(phase.policy),
         .workers = workers.first,
         .cutoff =
             policy::make_policy(phase.policy, workers.most, inputs)->nominal_cutoff(workers.first),
         .stale = stale});
  }
}

PolicyRules::PolicyRules(const std::optional<Spec>& policy,
                         std::optional<update::StalenessRule> given)
    : given_(given), staleness_(given_.value_or(update::StalenessRule::none())) {
  if (policy) {
    set(policy->text);
    switch_to(0);
  }
}

void PolicyRules::set(std::string_view policy) {
  phases_.clear();
  for (const policy::Phase& phase : policy::phases_of(Spec::parse(policy))) {
    phases_.push_back(phase.policy.text);
  }
  set_ = policy;
}

void PolicyRules::switch_to(std::uint32_t phase) {
  if (phase < phases_.size()) {
    take_up(phases_[phase]);
  }
}

void PolicyRules::take_up(const std::string& phase) {
  in_force_ = phase;
  const Spec policy = Spec::parse(phase);
  asynchronous_ = policy::is_asynchronous(policy);
  staleness_ =
      given_.value_or(update::StalenessRule::parse(Spec::parse(policy::default_staleness(policy))));
}

std::optional<std::string> PolicyRules::misfit() const {
  if (!given_ || in_force_.empty()) {
    return std::nullopt;
  }
  const Spec policy = Spec::parse(in_force_);
  const Kind kind = given_->kind();
  std::string what;
  if (!asynchronous_) {
    what = kind == Kind::kConSgd ? "each update counts as one worker's share" : "";
  } else if (policy::weighs_staleness_itself(policy)) {
    what = kind == Kind::kNone ? "" : "staleness is weighed twice";
  } else if (is_one_of(kind, {Kind::kNone, Kind::kDcAsgd})) {
    what = "each gradient counts in full, so the weights move several times as far";
  } else if (policy::barrier_of(policy) == policy::BarrierKind::kBoundedStaleness &&
             is_one_of(kind, {Kind::kInverse, Kind::kExponential, Kind::kPolynomial})) {
    what = "gradients that are hardly stale count in full, so the weights move further";
  }
  if (what.empty()) {
    return std::nullopt;
  }
  return "--staleness " + given_->name() + ", as given, stays in force under " + in_force_ + ": " +
         what + "; without it the rule would be " + policy::default_staleness(policy);
}

void PolicyRules::keep(Archive& archive) {
  std::string set = set_;
  std::string in_force = in_force_;
  archive("policy_set", set)("policy_in_force", in_force);
  if (!archive.reads()) {
    return;
  }
  try {
    if (!set.empty()) {
      this->set(set);
    }
    if (!in_force.empty()) {
      take_up(in_force);
    }
  } catch (const Error& error) {
    throw Error(ExitCode::kUnreadable, std::string("state 'policy_set': ") + error.what());
  }
}

}  // namespace outpace::server
