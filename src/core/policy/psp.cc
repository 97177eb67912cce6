#include "policy/psp.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "policy/lone_weight.h"

namespace outpace::policy {

void Psp::join(const WorkerJoined& event, Decision& out) {
  std::uint64_t least = UINT64_MAX;
  workers_.for_each(
      [&](WorkerId /*worker*/, const Worker& other) { least = std::min(least, other.clock); });
  Worker& state = workers_.join(event.worker);
  state.clock = live_.empty() ? 0 : least;
  live_.push_back(event.worker);
  waiters_.resize(std::max(waiters_.size(), index(event.worker) + 1));
  out.reason = {.why = Why::kJoined, .a = static_cast<double>(workers_.live())};
  release(event.worker, state, out);
}

void Psp::leave(const WorkerLeft& event, Decision& out) {
  workers_.leave(event.worker);
  *std::find(live_.begin(), live_.end(), event.worker) = live_.back();
  live_.pop_back();
  out.reason = {.why = Why::kLeft, .a = static_cast<double>(workers_.live())};
  let_go(event.worker, UINT64_MAX, out);
}

void Psp::arrive(Time /*now*/, const GradientArrived& event, Decision& out) {
  const std::uint64_t staleness = version_ - workers_[event.worker].version;
  out.reason = {.why = Why::kEachCounts, .a = static_cast<double>(staleness)};
  out.actions.push_back(Accept{event.worker, event.release, lone_weight(event)});
  out.actions.push_back(Commit{});
  ++version_;
  finish(event.worker, out);
}

void Psp::end(Time /*now*/, const ReleaseEnded& event, Decision& out) {
  finish(event.worker, out);
}

void Psp::finish(WorkerId worker, Decision& out) {
  Worker& state = workers_[worker];
  CHECK(state.wait == 0);
  ++state.clock;
  let_go(worker, state.clock, out);
  wait_for_sample(worker, state);
  if (state.waits_for == 0) {
    release(worker, state, out);
    return;
  }
  out.reason = {.why = Why::kSampleBehind,
                .a = static_cast<double>(state.clock),
                .b = static_cast<double>(state.waits_for)};
}

void Psp::let_go(WorkerId worker, std::uint64_t clock, Decision& out) {
  freed_.clear();
  std::erase_if(waiters_[index(worker)], [&](const Waiter& waiter) {
    if (!workers_.is_live(waiter.worker) || workers_[waiter.worker].wait != waiter.wait) {
      return true;
    }
    if (waiter.until > clock) {
      return false;
    }
    if (--workers_[waiter.worker].waits_for == 0) {
      freed_.push_back(waiter.worker);
    }
    return true;
  });
  std::sort(freed_.begin(), freed_.end());
  for (const WorkerId freed : freed_) {
    release(freed, workers_[freed], out);
  }
}

void Psp::wait_for_sample(WorkerId worker, Worker& state) {
  state.wait = ++waits_;
  state.waits_for = 0;
  std::uint64_t looked_at = 0;
  for (std::size_t i = 0; i < live_.size() && looked_at < options_.beta; ++i) {
    // A shuffle of the front alone: what stands before i was drawn already.
    std::swap(live_[i], live_[i + rng_.below(live_.size() - i)]);
    const WorkerId other = live_[i];
    if (other == worker) {
      continue;
    }
    ++looked_at;
    if (workers_[other].clock + options_.slack < state.clock) {
      waiters_[index(other)].push_back(
          {.worker = worker, .wait = state.wait, .until = state.clock - options_.slack});
      ++state.waits_for;
    }
  }
}

void Psp::release(WorkerId worker, Worker& state, Decision& out) {
  state.wait = 0;
  state.version = version_;
  out.actions.push_back(Release{worker});
}

std::uint32_t Psp::nominal_cutoff(std::uint32_t /*workers*/) const {
  return 1;
}

}  // namespace outpace::policy
