#include "server/policy_rules.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "policy/catalogue.h"
#include "policy/switch_spec.h"

namespace outpace::server {
namespace {

using Kind = update::StalenessRule::Kind;

bool is_one_of(Kind kind, std::initializer_list<Kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// These policies wait for the slowest worker, so that many of their gradients are hardly stale.
bool bounds_staleness(const std::string& policy) {
  static const std::array<std::string, 3> kBounding{"ssp", "dssp", "psp"};
  return std::find(kBounding.begin(), kBounding.end(), policy) != kBounding.end();
}

}  // namespace

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
  } else if (bounds_staleness(policy.name) &&
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
