// Which policy decides in a run, and which one people have asked for that does not decide yet.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/spec.h"
#include "policy/switch_spec.h"
#include "server/effects.h"
#include "wire/transport.h"

namespace outpace::live {

class PolicyChange {
 public:
  explicit PolicyChange(const Spec& policy)
      : phases_(policy::phases_of(policy)), set_(policy.text), in_force_(phases_.front().words()) {}

  // The one that decides at present: a phase of one that was set.
  [[nodiscard]] const std::string& in_force() const { return in_force_; }
  // The spec that was set last.
  [[nodiscard]] const std::string& set() const { return set_; }
  // What was asked for and does not decide yet; empty: nothing.
  [[nodiscard]] std::string coming() const {
    return asker_ ? phases_.front().policy.text : std::string();
  }

  // Throws a usage error if there is no such policy, and nothing changes. REQUIRES: none is coming.
  void ask(const Spec& policy, wire::ConnectionId asker) {
    phases_ = policy::phases_of(policy);
    set_ = policy.text;
    asker_ = asker;
  }
  // The seam. Returns the news, for people.
  [[nodiscard]] std::string switched(const server::Switched& seam) {
    in_force_ = phases_[seam.to].words();
    return "policy is now " + in_force_ + " from version " + std::to_string(count(seam.version)) +
           " on, staleness rule " + seam.staleness;
  }
  // The connection that asked and has no answer yet. From here on it has one.
  [[nodiscard]] std::optional<wire::ConnectionId> take_asker() {
    return std::exchange(asker_, std::nullopt);
  }

  void keep(Archive& archive) {
    archive("policy", in_force_)("set_policy", set_);
    if (archive.reads()) {
      phases_ = policy::phases_of(Spec::parse(set_));
    }
  }

 private:
  std::vector<policy::Phase> phases_;  // A Switched names one by its index.
  std::string set_;
  std::string in_force_;
  std::optional<wire::ConnectionId> asker_;
};

}  // namespace outpace::live
