#include "policy/round.h"

#include <algorithm>

#include "base/check.h"
#include "base/seeded_bug.h"

namespace outpace::policy {

Round::Round(std::uint32_t cutoff) : cutoff_(cutoff) {
  CHECK(cutoff_ >= 1);
}

void Round::decide(const Event& event, Decision& out) {
  out.clear();
  if (const auto* joined = std::get_if<WorkerJoined>(&event)) {
    join(*joined, out);
  } else if (const auto* left = std::get_if<WorkerLeft>(&event)) {
    leave(*left, out);
  } else if (const auto* gradient = std::get_if<GradientArrived>(&event)) {
    arrive(*gradient, out);
  } else if (const auto* ended = std::get_if<ReleaseEnded>(&event)) {
    end(*ended, out);
  }
}

void Round::join(const WorkerJoined& event, Decision& out) {
  Worker& state = workers_.join(event.worker);
  out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
  release(event.worker, state, out);
}

void Round::leave(const WorkerLeft& event, Decision& out) {
  if (workers_.leave(event.worker).computing && !SEEDED_BUG("dead_awaited")) {
    --computing_;
  }
  out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
  settle(out);
}

void Round::arrive(const GradientArrived& event, Decision& out) {
  Worker& state = workers_[event.worker];
  CHECK(state.computing);
  state.computing = false;
  --computing_;
  if (state.version < version_ && !SEEDED_BUG("stale_round_counts")) {
    const auto staleness = static_cast<double>(version_ - state.version);
    out.reason = {.why = Why::kAfterCutoff, .a = staleness};
    out.actions.push_back(Drop{event.worker, event.release, Why::kAfterCutoff});
    release(event.worker, state, out);
    return;
  }
  ++accepted_;
  out.reason = {.why = Why::kWaiting,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(cutoff())};
  out.actions.push_back(Accept{event.worker, event.release, 1.0});
  settle(out);
}

void Round::end(const ReleaseEnded& event, Decision& out) {
  Worker& state = workers_[event.worker];
  CHECK(state.computing);
  state.computing = false;
  --computing_;
  const bool refused = event.how == Ending::kRefused;
  out.reason = {.why = refused ? Why::kRefused : Why::kAbandoned};
  if (refused && state.version == version_) {
    settle(out);  // It has answered this round.
  } else {
    release(event.worker, state, out);
  }
}

void Round::release(WorkerId worker, Worker& state, Decision& out) {
  state = {.computing = true, .version = version_};
  ++computing_;
  out.actions.push_back(Release{worker});
}

void Round::settle(Decision& out) {
  if (accepted_ > 0 && accepted_ >= cutoff()) {
    commit(out);
  } else if (accepted_ == 0 && computing_ == 0) {
    workers_.for_each([&](WorkerId worker, Worker& state) { release(worker, state, out); });
  }
}

void Round::commit(Decision& out) {
  out.reason = {.why = Why::kCutoffReached,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(workers_.live())};
  out.actions.push_back(Commit{});
  workers_.for_each([&](WorkerId worker, const Worker& state) {
    // What is open from an older round was cancelled when that round ended.
    if (state.computing && state.version == version_) {
      out.actions.push_back(Cancel{worker, /*keep_part=*/false});
    }
  });
  ++version_;
  accepted_ = 0;
  workers_.for_each([&](WorkerId worker, Worker& state) {
    if (!state.computing && !(SEEDED_BUG("idle_forgotten") && worker == WorkerId{1})) {
      release(worker, state, out);
    }
  });
}

std::uint32_t Round::cutoff() const {
  return std::min(cutoff_, accepted_ + computing_);
}

}  // namespace outpace::policy
