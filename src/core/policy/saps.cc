#include "policy/saps.h"

#include <algorithm>

#include "base/check.h"
#include "policy/lone_weight.h"

namespace outpace::policy {

Saps::Saps(Options options) : remedy_(options.remedy), bound_(options.bound, options.workers) {
  if (remedy_ == Remedy::kPreempt) {
    preemption_.emplace(bound_.now());
  } else if (remedy_ == Remedy::kShrink) {
    shrinking_.emplace();
  }
  if (remedy_ == Remedy::kRefresh || remedy_ == Remedy::kShrink) {
    overdue_.emplace();
  }
}

void Saps::join(const WorkerJoined& event, Decision& out) {
  workers_.join(event.worker);
  bound_.join(event.worker);
  if (preemption_) {
    preemption_->join(event.worker);
  }
  if (shrinking_) {
    shrinking_->join(event.worker);
  }
  if (overdue_) {
    overdue_->join(event.worker);
  }
  out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
  release(std::nullopt, event.worker, out);
}

void Saps::leave(const WorkerLeft& event, Decision& out) {
  workers_.leave(event.worker);
  bound_.leave(event.worker);
  if (preemption_) {
    preemption_->ended(event.worker);
    if (workers_.live() == 0) {
      preemption_->forget_earned();
    }
  }
  if (shrinking_) {
    shrinking_->leave(event.worker);
  }
  if (overdue_) {
    overdue_->ended(event.worker);
  }
  out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
}

void Saps::arrive(Time now, const GradientArrived& event, Decision& out) {
  const std::uint64_t lag = version_ - workers_[event.worker].version;
  const bool late = lag > bound_.now() && remedy_ != Remedy::kDampen;
  if (preemption_ && preemption_->ended(event.worker)) {
    preemption_->answered(event.worker, version_, /*whole=*/!event.partial);
  }
  if (shrinking_) {
    shrinking_->arrived(event, late);
  }
  if (overdue_) {
    overdue_->ended(event.worker);
  }
  if (late) {
    drop(event, lag, out);
  } else {
    apply(event, lag, out);
  }
  bound_.answered(event.worker, lag);
  release(now, event.worker, out);
}

void Saps::end(Time now, const ReleaseEnded& event, Decision& out) {
  if (preemption_ && preemption_->ended(event.worker)) {
    preemption_->answered(event.worker, version_, /*whole=*/is_turned_away(event.how));
  }
  const Worker& state = workers_[event.worker];
  if (state.overdue) {
    const std::uint64_t lag = version_ - state.version;
    if (shrinking_) {
      shrinking_->interrupted(event.worker,
                              state.released
                                  ? std::optional(to_seconds(now - *state.released) / state.share)
                                  : std::nullopt);
    }
    bound_.answered(event.worker, lag);
  }
  if (overdue_) {
    overdue_->ended(event.worker);
  }
  release(now, event.worker, out);
}

void Saps::drop(const GradientArrived& event, std::uint64_t lag, Decision& out) {
  out.reason = {
      .why = Why::kTooStale, .a = static_cast<double>(lag), .b = static_cast<double>(bound_.now())};
  if (shrinking_) {
    out.reason = {.why = Why::kStragglerShrunk,
                  .a = static_cast<double>(lag),
                  .b = shrinking_->share(event.worker)};
  }
  out.actions.push_back(Drop{event.worker, event.release, Why::kTooStale});
}

void Saps::apply(const GradientArrived& event, std::uint64_t staleness, Decision& out) {
  const auto tau = static_cast<double>(staleness);
  double weight = lone_weight(event);
  out.reason = {.why = Why::kEachCounts, .a = tau};
  if (remedy_ == Remedy::kDampen) {
    weight /= std::max(1.0, tau);
    if (staleness > bound_.now()) {
      out.reason = {.why = Why::kStragglerDampened, .a = tau, .b = weight};
    }
  }
  out.actions.push_back(Accept{event.worker, event.release, weight});
  out.actions.push_back(Commit{});
  ++version_;
  interrupt_overdue(out);
  if (!preemption_) {
    return;
  }
  if (!event.partial) {
    preemption_->earn(workers_.live());
  }
  while (const auto straggler = preemption_->next_due(version_)) {
    const std::uint64_t lag = version_ - workers_[*straggler].version;
    out.actions.push_back(Cancel{*straggler, /*keep_part=*/true});
    out.reason = {.why = Why::kStragglerCancelled,
                  .a = static_cast<double>(lag),
                  .b = static_cast<double>(bound_.now())};
  }
}

void Saps::interrupt_overdue(Decision& out) {
  while (const auto straggler = overdue_ ? overdue_->next(version_, bound_.now()) : std::nullopt) {
    Worker& state = workers_[*straggler];
    state.overdue = true;
    out.actions.push_back(Cancel{*straggler, /*keep_part=*/false});
    out.reason = {.why = Why::kStragglerCancelled,
                  .a = static_cast<double>(version_ - state.version),
                  .b = static_cast<double>(bound_.now())};
  }
}

void Saps::release(std::optional<Time> now, WorkerId worker, Decision& out) {
  const double share = shrinking_ ? shrinking_->share(worker) : 1.0;
  workers_[worker] = {.version = version_, .released = now, .share = share};
  if (preemption_) {
    preemption_->set_bound(bound_.now());
    preemption_->released(worker, version_, workers_.live());
  }
  if (overdue_) {
    overdue_->released(worker, version_);
  }
  out.actions.push_back(Release{worker, share});
}

std::optional<std::string> Saps::take_warning() {
  return remedy_ == Remedy::kDampen ? std::nullopt : bound_.take_warning();
}

std::uint32_t Saps::nominal_cutoff(std::uint32_t /*workers*/) const {
  return 1;
}

}  // namespace outpace::policy
