#include "invariants/decisions.h"

#include <algorithm>
#include <cmath>

#include "base/overloaded.h"
#include "invariants/violation.h"
#include "policy/auto_candidates.h"
#include "policy/catalogue.h"

namespace outpace::invariants {

Decisions::Decisions(const Spec& policy, std::uint32_t workers, const policy::PolicyInputs& inputs)
    : phases_(policy::phases_of(policy)),
      promise_(policy::promise_of(phases_.front().policy)),
      given_share_most_(inputs.balance ? inputs.balance->most : 1.0),
      auto_share_most_(inputs.may_balance.most),
      share_most_(given_share_most_),
      hand_ins_(inputs.local_steps > 0),
      workers_(workers) {}

void Decisions::check(Time /*now*/,
                      const policy::Event& event,
                      std::span<const policy::Action> actions) {
  verdicts_ = 0;
  take_in(event);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const bool last = i + 1 == actions.size();
    const bool at_seam = !last && std::holds_alternative<policy::Switched>(actions[i + 1]);
    std::visit(
        Overloaded{[&](const policy::Accept& accept) { accepted(event, accept); },
                   [&](const policy::Drop& drop) { verdict(event, drop.worker, drop.release); },
                   [&](const policy::Commit&) { committed(at_seam); },
                   [&](const policy::Release& release) { released(release); },
                   [&](const policy::Cancel& cancel) { cancelled(cancel); },
                   [&](const policy::WakeAt&) { timer_ = true; },
                   [&](const policy::Switched& seam) { switched(seam); }},
        actions[i]);
  }
  at_rest(event);
}

void Decisions::restarted() {
  std::fill(workers_.begin(), workers_.end(), Worker{});
  live_ = 0;
  open_ = 0;
  accepted_ = 0;
  timer_ = false;
}

// ---- Events -------------------------------------------------------------------------------------

void Decisions::take_in(const policy::Event& event) {
  std::visit(
      Overloaded{[&](const policy::WorkerJoined& joined) { join(joined.worker); },
                 [&](const policy::WorkerLeft& left) { leave(left.worker); },
                 [&](const policy::GradientArrived& gradient) { arrived(gradient); },
                 [&](const policy::ReleaseEnded& ended) { end(ended.worker, "ended a release"); },
                 [&](const policy::TimerFired&) { timer_ = false; },
                 [&](const policy::PolicySet& set) {
                   phases_ = policy::phases_of(Spec::parse(set.policy));
                 },
                 Ignoring<policy::Measured>{}},
      event);
}

void Decisions::join(WorkerId id) {
  if (index(id) >= workers_.size()) {
    workers_.resize(index(id) + 1);
  }
  Worker& worker = workers_[index(id)];
  hold(!worker.live, "I6", [&] { return name(id) + " joined and was live"; });
  const std::uint64_t clock = least_clock();
  worker = {.live = true, .clock = clock};
  ++live_;
}

void Decisions::leave(WorkerId id) {
  Worker& worker = live(id, "left");
  open_ -= worker.open ? 1U : 0U;
  --live_;
  worker = {};
}

void Decisions::end(WorkerId id, const char* how) {
  Worker& worker = live(id, how);
  hold(worker.open, "I1", [&] { return name(id) + " " + how + " and had no release open"; });
  worker.open = false;
  ++worker.clock;
  --open_;
}

void Decisions::arrived(const policy::GradientArrived& gradient) {
  end(gradient.worker, "sent a gradient");
  const Worker& worker = workers_[index(gradient.worker)];
  if (!first_version_) {
    first_version_ = count(gradient.computed_on) - worker.version;
  }
  hold(count(gradient.computed_on) == *first_version_ + worker.version, "I10", [&] {
    return name(gradient.worker) + " computed on version " +
           std::to_string(count(gradient.computed_on)) + ", and was released at " +
           std::to_string(*first_version_ + worker.version);
  });
}

// ---- Actions ------------------------------------------------------------------------------------

void Decisions::verdict(const policy::Event& event, WorkerId worker, Sequence release) {
  const auto* gradient = std::get_if<policy::GradientArrived>(&event);
  hold(gradient != nullptr && gradient->worker == worker && gradient->release == release,
       "I1",
       [&] { return "a verdict on a gradient of " + name(worker) + " that did not just arrive"; });
  hold(++verdicts_ == 1, "I1", [&] { return "two verdicts on a gradient of " + name(worker); });
}

void Decisions::accepted(const policy::Event& event, const policy::Accept& accept) {
  verdict(event, accept.worker, accept.release);
  hold(std::isfinite(accept.weight) && accept.weight > 0.0 && accept.weight <= share_most_,
       "I17",
       [&] { return "a weight of " + std::to_string(accept.weight); });
  const std::uint64_t staleness = commits_ - workers_[index(accept.worker)].version;
  const std::uint64_t most = promise_.staleness_by_workers
                                 ? std::max<std::uint64_t>(1, 2 * (live_ - 1))
                                 : promise_.staleness_most;
  hold(staleness <= most, "I3", [&] {
    return "a gradient of " + name(accept.worker) + " counts that is " + std::to_string(staleness) +
           " versions old";
  });
  ++accepted_;
}

void Decisions::committed(bool at_seam) {
  hold(accepted_ > 0, "I1", [] { return "a commit of nothing"; });
  hold(at_seam || accepted_ >= awaited(), "I17", [&] {
    return "a commit of " + std::to_string(accepted_) + " gradients, not " +
           std::to_string(awaited());
  });
  const bool counts_workers = promise_.awaits == policy::Awaits::kWorkers && !hand_ins_;
  hold(!counts_workers || accepted_ <= promise_.gradients, "I17", [&] {
    return "a commit of " + std::to_string(accepted_) + " gradients, beyond the cutoff";
  });
  accepted_ = 0;
  ++commits_;
}

void Decisions::released(const policy::Release& release) {
  Worker& worker = live(release.worker, "was released");
  hold(!worker.open, "I1", [&] { return name(release.worker) + " has two releases open"; });
  hold(release.share > 0.0 && release.share <= share_most_, "I17", [&] {
    return "a share of " + std::to_string(release.share);
  });
  const bool bounded = promise_.ahead_most != policy::kUnbounded;
  hold(!bounded || worker.clock <= least_clock() + promise_.ahead_most, "I3", [&] {
    return name(release.worker) + " is released at clock " + std::to_string(worker.clock) +
           ", and the slowest is at " + std::to_string(least_clock());
  });
  worker.open = true;
  worker.asked = false;
  worker.version = commits_;
  ++open_;
}

void Decisions::cancelled(const policy::Cancel& cancel) {
  Worker& worker = live(cancel.worker, "was cancelled");
  hold(worker.open, "I6", [&] { return name(cancel.worker) + " was cancelled and is idle"; });
  worker.asked = worker.asked || cancel.keep_part;
}

void Decisions::switched(const policy::Switched& seam) {
  hold(open_ == 0 && accepted_ == 0, "I18", [&] {
    return "another policy decides while " + std::to_string(open_) + " compute and " +
           std::to_string(accepted_) + " gradients wait for an update";
  });
  hold(seam.to < phases_.size(), "I18", [&] {
    return "there is no policy " + std::to_string(seam.to) + " to switch to";
  });
  const policy::Phase& phase = phases_[seam.to];
  promise_ = policy::promise_of(phase.policy);
  share_most_ = phase.balance ? auto_share_most_ : given_share_most_;
  for (Worker& worker : workers_) {
    worker.clock = 0;
  }
}

void Decisions::at_rest(const policy::Event& event) {
  hold(verdicts_ == 1 || !std::holds_alternative<policy::GradientArrived>(event), "I1", [] {
    return "a gradient without a verdict";
  });
  // Where workers are awaited it is what can still come; more would be somebody who is gone.
  hold(accepted_ == 0 || promise_.awaits == policy::Awaits::kAny || accepted_ < awaited() ||
           awaits_part(),
       promise_.awaits == policy::Awaits::kWorkers ? "I6" : "I17",
       [&] {
         return "an update waits with " + std::to_string(accepted_) + " gradients, and " +
                std::to_string(live_) + " live workers make it " + std::to_string(awaited());
       });
  hold(live_ == 0 || open_ > 0 || timer_, "I5", [&] {
    return std::to_string(live_) + " live workers, none computes, and no timer is set";
  });
}

// ---- State --------------------------------------------------------------------------------------

Decisions::Worker& Decisions::live(WorkerId worker, const char* what) {
  hold(index(worker) < workers_.size() && workers_[index(worker)].live, "I6", [&] {
    return name(worker) + " " + what + " and is not live";
  });
  return workers_[index(worker)];
}

std::uint64_t Decisions::least_clock() const {
  std::uint64_t least = UINT64_MAX;
  for (const Worker& worker : workers_) {
    least = worker.live ? std::min(least, worker.clock) : least;
  }
  return least == UINT64_MAX ? 0 : least;
}

bool Decisions::awaits_part() const {
  return hand_ins_ && std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
           return worker.open && worker.asked;
         });
}

std::uint64_t Decisions::awaited() const {
  switch (promise_.awaits) {
    case policy::Awaits::kWorkers:
      return std::min(promise_.gradients, accepted_ + open_);
    case policy::Awaits::kRound:
      return open_ > 0 ? promise_.gradients : accepted_;
    case policy::Awaits::kBatches:
      return live_ > 0 ? promise_.gradients : 1;
    case policy::Awaits::kSplits:
      return std::max<std::uint64_t>(1, live_ / promise_.gradients);
    case policy::Awaits::kAny:
    case policy::Awaits::kOne:
      break;
  }
  return 1;
}

}  // namespace outpace::invariants
