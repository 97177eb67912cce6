#include "policy/preemption.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::policy {
namespace {

constexpr double kFallPerRelease = 1.0 / 8.0;

}  // namespace

Preemption::Preemption(std::uint64_t bound) : bound_(bound), heads_(kLists, kNobody) {
  CHECK(bound_ >= 1);
}

void Preemption::set_bound(std::uint64_t bound) {
  CHECK(bound >= 1);
  bound_ = bound;
}

void Preemption::join(WorkerId worker) {
  if (index(worker) >= workers_.size()) {
    workers_.resize(index(worker) + 1);
  }
  CHECK(!workers_[index(worker)].waiting);
  workers_[index(worker)] = {};
}

void Preemption::released(WorkerId worker, std::uint64_t version, std::uint32_t live) {
  Worker& state = workers_[index(worker)];
  CHECK(!state.waiting);
  const auto early = static_cast<std::uint64_t>(std::ceil(state.crossing));
  const std::uint64_t mean_lag = live > 1 ? live - 1 : 0;
  const std::uint64_t floor = std::max<std::uint64_t>(1, std::min(mean_lag, (bound_ + 1) / 2));
  state.due = version + std::max(floor, bound_ > early ? bound_ - early : 0);
  state.waiting = true;
  state.was_interrupted = false;
  std::uint32_t& first = head(state.due);
  state.before = kNobody;
  state.after = first;
  if (first != kNobody) {
    workers_[first].before = static_cast<std::uint32_t>(index(worker));
  }
  first = static_cast<std::uint32_t>(index(worker));
}

bool Preemption::ended(WorkerId worker) {
  const Worker& state = workers_[index(worker)];
  if (state.waiting) {
    unlink(static_cast<std::uint32_t>(index(worker)));
  }
  return state.was_interrupted;
}

void Preemption::answered(WorkerId worker, std::uint64_t version, bool whole) {
  Worker& state = workers_[index(worker)];
  const auto seen = static_cast<double>(version - state.interrupted);
  // A whole gradient had been pushed before the interruption was noticed: the crossing is at least
  // this long, but how much longer it does not say.
  const double fallen = whole ? state.crossing : state.crossing - kFallPerRelease;
  state.crossing = std::max(seen, fallen);
}

void Preemption::earn(std::uint32_t most) {
  earned_ = std::min(earned_ + 1, most);
}

std::optional<WorkerId> Preemption::next_due(std::uint64_t version) {
  queue_due(version);
  if (first_ == kNobody || earned_ == 0) {
    return std::nullopt;
  }
  --earned_;
  const std::uint32_t worker = first_;
  unlink(worker);
  Worker& state = workers_[worker];
  state.was_interrupted = true;
  state.interrupted = version;
  return WorkerId{worker};
}

void Preemption::queue_due(std::uint64_t version) {
  std::uint32_t next = head(version);
  while (next != kNobody) {
    const std::uint32_t worker = next;
    Worker& state = workers_[worker];
    next = state.after;
    if (state.due != version) {
      CHECK(state.due > version);
      continue;
    }
    unlink(worker);
    state.waiting = true;
    state.queued = true;
    state.before = last_;
    state.after = kNobody;
    (last_ == kNobody ? first_ : workers_[last_].after) = worker;
    last_ = worker;
  }
}

std::uint32_t& Preemption::head(std::uint64_t version) {
  return heads_[version % kLists];
}

void Preemption::unlink(std::uint32_t worker) {
  Worker& state = workers_[worker];
  std::uint32_t& first = state.queued ? first_ : head(state.due);
  (state.before == kNobody ? first : workers_[state.before].after) = state.after;
  if (state.after != kNobody) {
    workers_[state.after].before = state.before;
  } else if (state.queued) {
    last_ = state.before;
  }
  state.waiting = false;
  state.queued = false;
}

}  // namespace outpace::policy
