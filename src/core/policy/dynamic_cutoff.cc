#include "policy/dynamic_cutoff.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"

namespace outpace::policy {
namespace {

// Iterations for which one that was late while nothing was known is let finish.
constexpr std::uint64_t kLongestCold = 20;
constexpr double kNewestGivingUp = 0.2;  // The weight of the newest.

// The model hears of a part before it is shown the iteration.
bool decides_nothing(const Event& event) {
  const auto* ended = std::get_if<ReleaseEnded>(&event);
  return std::holds_alternative<Measured>(event) || (ended != nullptr && ended->part > 0.0);
}

}  // namespace

DynamicCutoff::DynamicCutoff(std::unique_ptr<runtime_model::RuntimeModel> model,
                             runtime_model::Cutoff::Options options,
                             std::uint32_t workers,
                             std::optional<GradientNoise> noise,
                             std::uint32_t local_steps)
    : cutoff_(std::move(model), options, workers),
      noise_(noise),
      warm_up_(std::max(1U, local_steps)) {}

void DynamicCutoff::decide(Time now, const Event& event, Decision& out) {
  out.clear();
  now_ = now;
  if (!decides_nothing(event)) {
    cutoff_.think();
  }
  std::visit(Overloaded{[&](const WorkerJoined& joined) { join(joined, out); },
                        [&](const WorkerLeft& left) { leave(left, out); },
                        [&](const GradientArrived& gradient) { arrive(gradient, out); },
                        [&](const ReleaseEnded& ended) { end(ended, out); },
                        [&](const TimerFired&) { look(out); },
                        [&](const Measured& measured) { hear(measured); },
                        Ignoring<PolicySet>{}},
             event);
}

void DynamicCutoff::keep(Archive& archive) {
  archive("cutoff", cutoff_)("last_count", last_count_)("version", version_)("begun", begun_);
  if (noise_) {
    archive("noise", *noise_);
  }
}

void DynamicCutoff::join(const WorkerJoined& event, Decision& out) {
  Worker& state = workers_.join(event.worker);
  warm_up_.join(event.worker);
  if (workers_.live() == 1) {
    begun_ = now_;
    cutoff_.begin_anew();
  }
  out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
  release(event.worker, state, out);
}

void DynamicCutoff::leave(const WorkerLeft& event, Decision& out) {
  computing_ -= workers_.leave(event.worker).computing ? 1U : 0U;
  warm_up_.leave(event.worker, event.how);
  drains_ = drains_ || event.how == Departure::kDrained;
  out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
  settle(out);
}

void DynamicCutoff::hear(const Measured& event) {
  if (noise_) {
    noise_->hear(event, gradients_of_norms(last_count_));
    cutoff_.set_worth(noise_->worth());
  }
}

void DynamicCutoff::arrive(const GradientArrived& event, Decision& out) {
  Worker& state = workers_[event.worker];
  CHECK(state.computing);
  state.computing = false;
  --computing_;
  // A part that comes late tells how long the whole takes.
  const double runtime =
      to_seconds(event.runtime) * (event.partial ? 1.0 * event.nominal / event.examples : 1.0);
  const bool cold = warm_up_.cold(event.worker);
  warm_up_.end(event.worker);
  if (state.version < version_) {
    if (state.seen_longer) {
      cutoff_.correct(event.worker, runtime);
    }
    out.reason = {.why = Why::kAfterCutoff, .a = static_cast<double>(version_ - state.version)};
    out.actions.push_back(Drop{event.worker, event.release, Why::kAfterCutoff});
    release(event.worker, state, out);
    return;
  }
  if (cold) {
    cutoff_.observe_cold();
  } else {
    cutoff_.observe(event.worker, {.seconds = runtime, .fate = runtime_model::Fate::kArrived});
  }
  state.probing.came();
  ++accepted_;
  out.actions.push_back(Accept{event.worker, event.release, 1.0});
  out.reason = {.why = Why::kWaiting,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(accepted_ + computing_)};
  settle(out);
}

void DynamicCutoff::end(const ReleaseEnded& event, Decision& out) {
  Worker& state = workers_[event.worker];
  CHECK(state.computing);
  state.computing = false;
  --computing_;
  if (event.part > 0.0) {
    hear_part(event, state);
  }
  warm_up_.end(event.worker);
  out.reason = {.why = why_ended(event.how)};
  if (is_turned_away(event.how) && state.version == version_) {
    settle(out);  // It has answered in this iteration.
  } else {
    release(event.worker, state, out);
  }
}

void DynamicCutoff::hear_part(const ReleaseEnded& event, Worker& state) {
  cutoff_.add_part(event.part);
  state.probing.came();
  if (state.seen_longer) {
    cutoff_.correct(event.worker, to_seconds(event.runtime) / event.part);
  }
}

void DynamicCutoff::release(WorkerId worker, Worker& state, Decision& out) {
  if (state.cancelled) {
    state.gives_up_after +=
        kNewestGivingUp * (to_seconds(now_ - *state.cancelled) - state.gives_up_after);
  }
  state = {.computing = true,
           .version = version_,
           .released = now_,
           .cancelled = std::nullopt,
           .seen_longer = false,
           .gives_up_after = state.gives_up_after,
           .probing = state.probing};
  ++computing_;
  cutoff_.begin_late(worker, seconds());
  out.actions.push_back(Release{worker});
}

void DynamicCutoff::find_waited_for() {
  out_.clear();
  workers_.for_each([&](WorkerId worker, const Worker& state) {
    // While nothing is known, who is late from an iteration before is not waited for again.
    const bool may_count = (cutoff_.knows() && !drains_) || state.version == version_;
    const bool counts = may_count && (drains_ || cutoff_.forecasts(worker));
    if (state.computing && counts) {
      out_.push_back(static_cast<std::uint32_t>(index(worker)));
    }
  });
}

void DynamicCutoff::start_again(Decision& out) {
  if (nobody_answers()) {
    workers_.for_each([&](WorkerId worker, Worker& state) {
      if (!state.computing) {
        release(worker, state, out);
      }
    });
  }
}

void DynamicCutoff::settle(Decision& out) {
  if (accepted_ == 0) {
    start_again(out);
    return;
  }
  find_waited_for();
  if (cutoff_.is_complete(accepted_, out_)) {
    commit(/*cuts_off=*/true, out);
  } else {
    out.actions.push_back(WakeAt{now_});
  }
}

void DynamicCutoff::look(Decision& out) {
  if (accepted_ == 0) {
    start_again(out);
    return;
  }
  if (drains_) {
    return;  // It is settled by what the workers do.
  }
  find_waited_for();
  const runtime_model::Cutoff::Verdict verdict = cutoff_.look(seconds(), accepted_, out_);
  if (verdict.stop) {
    commit(!verdict.lets_finish, out);
  } else if (std::isfinite(verdict.again)) {
    // Rounded, it might be no later than now, for ever.
    const Time again = begun_ + from_seconds(verdict.again);
    out.actions.push_back(WakeAt{std::max(again, now_ + Duration{1})});
  }
}

bool DynamicCutoff::nobody_answers() {
  bool nobody = true;
  workers_.for_each([&](WorkerId /*worker*/, const Worker& state) {
    nobody = nobody && !(state.computing && (state.version == version_ || state.cancelled));
  });
  return nobody;
}

void DynamicCutoff::tell_to_stop(WorkerId worker, Worker& state, Decision& out) {
  out.actions.push_back(Cancel{worker, /*keep_part=*/false});
  state.cancelled = now_;
}

void DynamicCutoff::observe_longer(WorkerId worker, Worker& state) {
  if (warm_up_.cold(worker)) {
    cutoff_.observe_cold();
    return;
  }
  cutoff_.observe(
      worker, {.seconds = to_seconds(now_ - state.released), .fate = runtime_model::Fate::kLonger});
  state.seen_longer = true;
}

void DynamicCutoff::commit(bool cuts_off, Decision& out) {
  const std::uint32_t expected = cutoff_.expected();
  out.reason = {.why = expected == 0 ? Why::kCutoffReached : Why::kWaitedEnough,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(expected == 0 ? workers_.live() : expected)};
  out.actions.push_back(Commit{});
  workers_.for_each([&](WorkerId worker, Worker& state) {
    if (!state.computing || state.cancelled) {
      return;
    }
    if (state.version < version_) {  // It is let finish, if that does not take for ever.
      const std::uint64_t longest =
          state.seen_longer ? runtime_model::Probing::kLongest : kLongestCold;
      if (version_ - state.version > longest) {
        tell_to_stop(worker, state, out);
      }
    } else if (cuts_off) {
      observe_longer(worker, state);
      if (!state.probing.lets_finish()) {
        tell_to_stop(worker, state, out);
      }
    }
  });
  patience_ = cutoff_.patience(seconds(), out_);
  cutoff_.end(accepted_, seconds());
  ++version_;
  last_count_ = accepted_;
  accepted_ = 0;
  begun_ = now_;
  workers_.for_each([&](WorkerId worker, Worker& state) {
    if (state.cancelled) {
      cutoff_.take_part(worker, 0.0, state.gives_up_after);
    } else {
      cutoff_.take_part(worker, state.computing ? to_seconds(now_ - state.released) : 0.0);
    }
    if (!state.computing) {
      release(worker, state, out);
    }
  });
  out.actions.push_back(WakeAt{now_});
}

}  // namespace outpace::policy
