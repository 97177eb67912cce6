#include "policy/kasync.h"

#include <algorithm>

#include "base/check.h"
#include "policy/lone_weight.h"

namespace outpace::policy {

void KAsync::join(const WorkerJoined& event, Decision& out) {
  Worker& state = workers_.join(event.worker);
  out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
  release(event.worker, state, out);
}

void KAsync::leave(const WorkerLeft& event, Decision& out) {
  if (workers_.leave(event.worker).computing) {
    --computing_;
  }
  out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
  commit_if_full(out);
}

void KAsync::arrive(Time /*now*/, const GradientArrived& event, Decision& out) {
  Worker& state = workers_[event.worker];
  CHECK(state.computing);
  state.computing = false;
  --computing_;
  const double weight = k_ == 1 ? lone_weight(event) : 1.0;
  out.actions.push_back(Accept{event.worker, event.release, weight});
  ++accepted_;
  out.reason = {.why = Why::kWaiting,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(cutoff())};
  commit_if_full(out);
}

void KAsync::end(Time /*now*/, const ReleaseEnded& event, Decision& out) {
  Worker& state = workers_[event.worker];
  CHECK(state.computing);
  --computing_;
  release(event.worker, state, out);
}

void KAsync::release(WorkerId worker, Worker& state, Decision& out) {
  state.computing = true;
  ++computing_;
  out.actions.push_back(Release{worker});
}

void KAsync::commit_if_full(Decision& out) {
  if (accepted_ == 0 || accepted_ < cutoff()) {
    return;
  }
  out.reason = {.why = Why::kCutoffReached,
                .a = static_cast<double>(accepted_),
                .b = static_cast<double>(workers_.live())};
  out.actions.push_back(Commit{});
  accepted_ = 0;
  workers_.for_each([&](WorkerId worker, Worker& state) {
    if (!state.computing) {
      release(worker, state, out);
    }
  });
}

std::uint32_t KAsync::cutoff() const {
  return std::min(k_, accepted_ + computing_);
}

std::uint32_t KAsync::nominal_cutoff(std::uint32_t workers) const {
  return std::min(k_, workers);
}

}  // namespace outpace::policy
