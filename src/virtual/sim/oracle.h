// The upper bound for cutoff policies: a policy that knows when each worker will be done.
//
// An update ends at the gradient after which no count of further ones is worth the wait:
//
//   max over k of  k - lambda (x_(c+k) - now)  <=  0
//
// x are the true times of arrival. By renewal-reward (Dinkelbach, "On Nonlinear Fractional
// Programming", Management Science 1967) stopping by it with lambda = Omega maximises
// Omega = sum(gradients) / sum(seconds) where iterations do not depend on each other; lambda is the
// run's own rate, in which the past counts ever less, as in runtime_model/cutoff.h. Workers that it
// does not wait for are cancelled. No server can have this policy: only a simulation knows the
// future.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "policy/round.h"

namespace outpace::sim {

class Oracle final : public policy::Policy {
 public:
  // When the gradient that this worker computes will arrive; nothing if that is not known yet, and
  // then it is not waited for.
  using Foresight = std::function<std::optional<Time>(WorkerId)>;

  explicit Oracle(Foresight foresight);

  void decide(Time now, const policy::Event& event, policy::Decision& out) override;
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override {
    return round_.nominal_cutoff(workers);
  }
  void keep(Archive& archive) override {
    archive("round", round_)("version", version_)("begun", begun_);
    archive("gradients", gradients_)("seconds", seconds_);
  }

 private:
  [[nodiscard]] bool is_enough(Time now);
  void take_in(const policy::Event& event);
  void follow(Time now, const policy::Decision& decision);

  // Constant after construction.
  const Foresight foresight_;

  policy::Round round_;
  std::map<WorkerId, std::uint64_t> open_;  // The version that each computing worker has.
  std::uint64_t version_ = 0;
  std::uint32_t accepted_ = 0;  // In this round.
  Time begun_{};
  double gradients_ = 0.0;  // Gradients of past iterations, discounted, like the next.
  double seconds_ = 0.0;
  std::vector<double> waits_;  // Used within a call; kept for its memory.
};

}  // namespace outpace::sim
