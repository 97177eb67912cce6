// Straggler-aware parameter server: asynchronous, with stragglers seen by the version they hold.
//
//   lag_w = V - v_w,   straggler iff lag_w > s
//
// where V counts the updates and v_w is V when w was last given weights. Yu, Zhu, Chen, Cheng, Hu,
// Li, "Accelerating Distributed Training in Heterogeneous Clusters via a Straggler-Aware Parameter
// Server" (IEEE HPCC 2019); the abstract's idea, with the means rebuilt here. Nobody waits; what is
// done about a straggler is one of
//
//   refresh   it is interrupted as soon as its gradient would be dropped, and gets the current
//             weights. No work is ever saved: a worker that is always slower than s
//             updates never counts.
//   preempt   it is told to push the part it has early enough to arrive with lag <= s
//             (preemption.h). A worker that cannot be interrupted is treated as by refresh.
//   shrink    as refresh; and once late, it gets smaller mini-batches (shrinking.h).
//   dampen    nothing is dropped: each gradient weighs 1 / max(1, tau), so tau has no bound.
//
// Under the first three no gradient with tau > s is ever taken up. s is a number, or follows the
// live workers or their lag (lag_bound.h).

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/by_event.h"
#include "policy/lag_bound.h"
#include "policy/members.h"
#include "policy/overdue.h"
#include "policy/preemption.h"
#include "policy/shrinking.h"

namespace outpace::policy {

class Saps final : public ByEvent {
 public:
  // The option `action`, which is another word for Action here.
  enum class Remedy : std::uint8_t { kRefresh, kPreempt, kShrink, kDampen };

  struct Options {
    LagBound::Rule bound;  // The paper's s.
    Remedy remedy;
    std::uint32_t workers;  // The run is planned with this many.
  };

  explicit Saps(Options options);

  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override;
  [[nodiscard]] bool asks_for_parts() const override { return preemption_.has_value(); }
  void keep(Archive& archive) override { archive("version", version_); }
  [[nodiscard]] std::optional<std::string> take_warning() override;

 private:
  struct Worker {
    std::uint64_t version = 0;     // At its last release,
    std::optional<Time> released;  // and when that was; not known of the first one.
    double share = 1.0;            // The share of a mini-batch, in that release.
    bool overdue = false;          // It was interrupted, because its gradient would be dropped.
  };

  void join(const WorkerJoined& event, Decision& out) override;
  void leave(const WorkerLeft& event, Decision& out) override;
  void arrive(Time now, const GradientArrived& event, Decision& out) override;
  void end(Time now, const ReleaseEnded& event, Decision& out) override;
  // Drops the gradient of a straggler.
  void drop(const GradientArrived& event, std::uint64_t lag, Decision& out);
  // Takes the gradient up as an update, and asks the workers that this makes stragglers for their
  // partial gradients.
  void apply(const GradientArrived& event, std::uint64_t staleness, Decision& out);
  // Interrupts those whose gradients would be dropped.
  void interrupt_overdue(Decision& out);
  void release(std::optional<Time> now, WorkerId worker, Decision& out);

  // Constant after construction.
  const Remedy remedy_;

  LagBound bound_;
  Members<Worker> workers_;
  std::uint64_t version_ = 0;             // Commits so far: V.
  std::optional<Preemption> preemption_;  // Present for preempt only.
  std::optional<Shrinking> shrinking_;    // Present for shrink only.
  std::optional<Overdue> overdue_;        // Present for refresh and shrink.
};

}  // namespace outpace::policy
