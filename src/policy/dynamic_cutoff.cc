#include "policy/dynamic_cutoff.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"

namespace outpace::policy {

DynamicCutoff::DynamicCutoff(std::unique_ptr<runtime_model::RuntimeModel> model,
                             runtime_model::Cutoff::Options options,
                             std::uint32_t workers,
                             std::optional<GradientNoise> noise)
    : cutoff_(std::move(model), options, workers), noise_(noise) {}

void DynamicCutoff::decide(Time now, const Event& event, Decision& out) {
  out.clear();
  now_ = now;
  if (!std::holds_alternative<Measured>(event)) {  // Which nothing is decided by at once.
    cutoff_.think();
  }
  std::visit(Overloaded{[&](const WorkerJoined& joined) { join(joined, out); },
                        [&](const WorkerLeft& left) { leave(left, out); },
                        [&](const GradientArrived& gradient) { arrive(gradient, out); },
                        [&](const ReleaseEnded& ended) { end(ended, out); },
                        [&](const TimerFired&) { settle(out); },
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
  if (workers_.live() == 1) {
    begun_ = now_;
  }
  out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
  release(event.worker, state, out);
}

void DynamicCutoff::leave(const WorkerLeft& event, Decision& out) {
  computing_ -= workers_.leave(event.worker).computing ? 1U : 0U;
  out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
  settle(out);
}

void DynamicCutoff::hear(const Measured& event) {
  if (noise_) {
    noise_->hear(event, last_count_);
    cutoff_.set_worth(noise_->worth());
  }
}

void DynamicCutoff::arrive(const GradientArrived& event, Decision& out) {
  Worker& state = workers_[event.worker];
  CHECK(state.computing);
  state.computing = false;
  --computing_;
  const double runtime = to_seconds(event.runtime);
  if (state.version < version_) {
    cutoff_.correct(event.worker, runtime);
    out.reason = {.why = Why::kAfterCutoff, .a = static_cast<double>(version_ - state.version)};
    out.actions.push_back(Drop{event.worker, event.release, Why::kAfterCutoff});
    release(event.worker, state, out);
    return;
  }
  cutoff_.observe(event.worker, {.seconds = runtime, .fate = runtime_model::Fate::kArrived});
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
  out.reason = {.why = why_ended(event.how)};
  if (is_turned_away(event.how) && state.version == version_) {
    settle(out);  // It has answered in this iteration.
  } else {
    release(event.worker, state, out);
  }
}

void DynamicCutoff::release(WorkerId worker, Worker& state, Decision& out) {
  state = {.computing = true, .version = version_, .released = now_};
  ++computing_;
  if (now_ > begun_) {
    cutoff_.begin_late(worker, seconds());
  }
  out.actions.push_back(Release{worker});
}

void DynamicCutoff::settle(Decision& out) {
  if (accepted_ == 0) {
    if (computing_ == 0) {
      workers_.for_each([&](WorkerId worker, Worker& state) { release(worker, state, out); });
    }
    return;
  }
  out_.clear();
  workers_.for_each([&](WorkerId worker, const Worker& state) {
    if (state.computing && cutoff_.forecasts(worker)) {
      out_.push_back(static_cast<std::uint32_t>(index(worker)));
    }
  });
  const runtime_model::Cutoff::Verdict verdict = cutoff_.look(seconds(), accepted_, out_);
  if (verdict.stop) {
    commit(out);
  } else if (std::isfinite(verdict.again)) {
    // Rounded, it might be no later than now, for ever.
    const Time again = begun_ + from_seconds(verdict.again);
    out.actions.push_back(WakeAt{std::max(again, now_ + Duration{1})});
  }
}

void DynamicCutoff::commit(Decision& out) {
  const std::uint32_t expected = cutoff_.expected();
  out.reason = {.why = expected == 0 ? Why::kCutoffReached : Why::kWaitedEnough,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(expected == 0 ? workers_.live() : expected)};
  out.actions.push_back(Commit{});
  workers_.for_each([&](WorkerId worker, const Worker& state) {
    // What is open from an older version was cancelled when that one ended.
    if (state.computing && state.version == version_) {
      out.actions.push_back(Cancel{worker, /*keep_part=*/false});
      cutoff_.observe(
          worker,
          {.seconds = to_seconds(now_ - state.released), .fate = runtime_model::Fate::kLonger});
    }
  });
  cutoff_.end(accepted_, seconds());
  ++version_;
  last_count_ = accepted_;
  accepted_ = 0;
  begun_ = now_;
  workers_.for_each([&](WorkerId worker, Worker& state) {
    cutoff_.take_part(worker, state.computing ? to_seconds(now_ - state.released) : 0.0);
    if (!state.computing) {
      release(worker, state, out);
    }
  });
  out.actions.push_back(WakeAt{now_});
}

}  // namespace outpace::policy
