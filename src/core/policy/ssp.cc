#include "policy/ssp.h"

#include <algorithm>

#include "base/check.h"
#include "policy/lone_weight.h"

namespace outpace::policy {

void Ssp::join(const WorkerJoined& event, Decision& out) {
  Worker& state = workers_.join(event.worker);
  state.clock = least_;
  ++at_least_;
  follow(event.worker, least_);
  out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
  release(event.worker, state, out);
}

void Ssp::leave(const WorkerLeft& event, Decision& out) {
  const Worker last = workers_.leave(event.worker);
  unfollow(event.worker);
  out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
  if (last.clock == least_) {
    leave_least(out);
  }
}

void Ssp::arrive(Time now, const GradientArrived& event, Decision& out) {
  const std::uint64_t staleness = version_ - workers_[event.worker].version;
  out.reason = {.why = Why::kEachCounts, .a = static_cast<double>(staleness)};
  out.actions.push_back(Accept{event.worker, event.release, lone_weight(event)});
  out.actions.push_back(Commit{});
  ++version_;
  finish(now, event.worker, event.runtime, out);
}

void Ssp::end(Time now, const ReleaseEnded& event, Decision& out) {
  finish(now, event.worker, Duration{}, out);
}

void Ssp::finish(Time now, WorkerId worker, Duration runtime, Decision& out) {
  Worker& state = workers_[worker];
  CHECK(!state.held);
  const bool was_least = state.clock == least_;
  ++state.clock;
  finished(now, worker, runtime);
  if (was_least) {
    leave_least(out);
  }
  const std::uint64_t ahead = state.clock - least_;
  if (ahead <= options_.slack) {
    release(worker, state, out);
    return;
  }
  state.slack = slack_of(worker);
  if (ahead <= state.slack) {
    out.reason = {.why = Why::kBoundRaised,
                  .a = static_cast<double>(ahead),
                  .b = static_cast<double>(state.slack)};
    release(worker, state, out);
    return;
  }
  state.held = true;
  out.reason = {.why = Why::kTooFarAhead,
                .a = static_cast<double>(state.clock),
                .b = static_cast<double>(least_)};
}

void Ssp::leave_least(Decision& out) {
  --at_least_;
  if (at_least_ > 0) {
    return;
  }
  least_ = workers_.live() == 0 ? 0 : UINT64_MAX;
  workers_.for_each([&](WorkerId /*worker*/, const Worker& state) {
    at_least_ = state.clock < least_ ? 1 : at_least_ + (state.clock == least_ ? 1 : 0);
    least_ = std::min(least_, state.clock);
  });
  std::uint32_t let_go = 0;
  workers_.for_each([&](WorkerId worker, Worker& state) {
    if (state.held && state.clock - least_ <= state.slack) {
      release(worker, state, out);
      ++let_go;
    }
  });
  if (let_go > 0) {
    out.reason = {
        .why = Why::kCaughtUp, .a = static_cast<double>(least_), .b = static_cast<double>(let_go)};
  }
}

void Ssp::release(WorkerId worker, Worker& state, Decision& out) {
  state.version = version_;
  state.held = false;
  out.actions.push_back(Release{worker});
}

std::uint32_t Ssp::nominal_cutoff(std::uint32_t /*workers*/) const {
  return 1;
}

}  // namespace outpace::policy
