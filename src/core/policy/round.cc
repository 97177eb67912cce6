#include "policy/round.h"

#include <algorithm>

#include "base/check.h"

namespace outpace::policy {

Round::Round(std::uint32_t cutoff, Answers answers) : answers_(answers), cutoff_(cutoff) {
  CHECK(cutoff_ >= 1);
}

void Round::set_cutoff(std::uint32_t cutoff) {
  CHECK(cutoff >= 1);
  cutoff_ = cutoff;
}

void Round::join(const WorkerJoined& event, Decision& out) {
  Worker& state = workers_.join(event.worker);
  out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
  release(event.worker, state, out);
}

void Round::leave(const WorkerLeft& event, Decision& out) {
  if (workers_.leave(event.worker).computing) {
    --computing_;
  }
  out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
  settle(out);
}

void Round::arrive(Time /*now*/, const GradientArrived& event, Decision& out) {
  Worker& state = workers_[event.worker];
  CHECK(state.computing);
  state.computing = false;
  --computing_;
  if (state.version < version_) {
    const auto staleness = static_cast<double>(version_ - state.version);
    out.reason = {.why = Why::kAfterCutoff, .a = staleness};
    out.actions.push_back(Drop{event.worker, event.release, Why::kAfterCutoff});
    release(event.worker, state, out);
    return;
  }
  ++accepted_;
  out.actions.push_back(Accept{event.worker, event.release, 1.0});
  const bool again = answers_ == Answers::kAgain && accepted_ < cutoff_;
  if (again) {
    release(event.worker, state, out);
  }
  out.reason = {.why = Why::kWaiting,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(cutoff())};
  if (!again) {
    settle(out);
  }
}

void Round::end(Time /*now*/, const ReleaseEnded& event, Decision& out) {
  Worker& state = workers_[event.worker];
  CHECK(state.computing);
  state.computing = false;
  --computing_;
  if (is_turned_away(event.how) && state.version == version_) {
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
    if (!state.computing) {
      release(worker, state, out);
    }
  });
}

std::uint32_t Round::cutoff() const {
  if (answers_ == Answers::kAgain && computing_ > 0) {
    return cutoff_;
  }
  return std::min(cutoff_, accepted_ + computing_);
}

std::uint32_t Round::nominal_cutoff(std::uint32_t workers) const {
  return answers_ == Answers::kAgain ? cutoff_ : std::min(cutoff_, workers);
}

}  // namespace outpace::policy
