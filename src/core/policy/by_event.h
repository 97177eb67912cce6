// A policy with a function for each kind of event. What most policies are made of.

#pragma once

#include "policy/policy.h"

namespace outpace::policy {

class ByEvent : public Policy {
 public:
  void decide(Time now, const Event& event, Decision& out) final;

 private:
  // Each finds `out` cleared.
  virtual void join(const WorkerJoined& event, Decision& out) = 0;
  virtual void leave(const WorkerLeft& event, Decision& out) = 0;
  virtual void arrive(Time now, const GradientArrived& event, Decision& out) = 0;
  virtual void end(Time now, const ReleaseEnded& event, Decision& out) = 0;
  virtual void hear(const Measured& /*event*/, Decision& /*out*/) {}
};

}  // namespace outpace::policy
