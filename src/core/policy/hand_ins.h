// A policy that cuts workers off, where these hand in what they have done. Under local steps a
// release is a phase of several mini-batches, and those that are done are worth having.
//
// The policy inside decides all that it decides by itself, and to it a worker that it cuts off has
// nothing, as ever. When it commits and tells workers to stop that compute on the present version,
// the commit waits here for their parts:
//
//   policy inside   commit, cancel w, release the others
//   here            ask w for its part .. accept the part .. commit, release the others
//                   then, to the policy inside: w has given up, so that it releases w as well
//
// Parts are waited for as long again as the update took, because a worker finishes the mini-batch
// that it is at, and the request and the part travel; and for less if the policy says so. The
// policy inside hears of a later one as of any late gradient. What comes meanwhile from others is
// answered at once if it is a gradient, because each must be: taken up if it is of this version. To
// the policy inside, waiting for parts takes no time, so that what it expects of runtimes stays
// true; it is told how long that was, and how large a part each handed in, which tells its pace.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "policy/members.h"
#include "policy/policy.h"

namespace outpace::policy {

class HandIns final : public Policy {
 public:
  // REQUIRES: inside->cuts_off().
  explicit HandIns(std::unique_ptr<Policy> inside) : inside_(std::move(inside)) {}

  void decide(Time now, const Event& event, Decision& out) override;
  void prepare(WorkerId worker) const override { inside_->prepare(worker); }
  void keep(Archive& archive) override { inside_->keep(archive); }

  [[nodiscard]] std::optional<std::string> take_warning() override {
    return inside_->take_warning();
  }
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override {
    return inside_->nominal_cutoff(workers);
  }
  [[nodiscard]] bool asks_for_parts() const override { return true; }
  [[nodiscard]] bool asks_for_norms() const override { return inside_->asks_for_norms(); }
  [[nodiscard]] bool outlook(Outlook& out) const override { return inside_->outlook(out); }
  [[nodiscard]] bool asks_for_training_loss() const override {
    return inside_->asks_for_training_loss();
  }

 private:
  struct Worker {
    bool computing = false;
    bool asked = false;         // For its part, which has not come.
    std::uint64_t version = 0;  // Commits before its last release.
  };

  // While a commit waits for parts.
  void collect(Time now, const Event& event, Decision& out);
  void take_gradient(Time now, const GradientArrived& event, Decision& out);
  void settle(Time now, Decision& out);
  // Commits, and tells the policy inside what has come meanwhile.
  void end(Time now, Decision& out);

  void decide_inside(Time now, const Event& event, Decision& out);
  // Notes what `inside_decision_` does, and passes it on, or holds its commit back.
  void pass_on(Time now, Decision& out);
  // Whether the decision from `commit` on cuts off somebody whose part would count.
  [[nodiscard]] bool leaves_parts(std::size_t commit);
  void hold(Time now, std::size_t commit, Decision& out);
  void append(Time now, const Action& action, Decision& out);
  void hear(Time now, const Event& event);
  void leave(const WorkerLeft& event);

  const std::unique_ptr<Policy> inside_;
  Decision inside_decision_;
  Members<Worker> workers_;
  std::uint64_t version_ = 0;  // Commits so far.
  Time begun_{};               // When the last one was, or the first worker came.
  // While a commit is held back:
  bool holds_ = false;
  std::vector<Action> held_;  // From the commit on.
  Reason held_reason_;
  Time held_at_{};
  std::vector<Event> later_;    // What the policy inside hears after it.
  std::vector<Event> hearing_;  // Used within a call; kept for its memory.
  std::uint32_t asked_ = 0;     // Parts that have not come.
  std::uint32_t came_ = 0;      // Those that have.
  Time patience_ends_{};
  Duration held_for_{};  // All commits so far: the clock of the policy inside is behind by this.
  std::optional<Time> wakes_;  // The timer of the policy inside, on its clock.
};

}  // namespace outpace::policy
