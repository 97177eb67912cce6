// The cluster's other half: how its workers come and go, what faults do to them, and the heartbeats
// by which the server finds out.

#include <algorithm>

#include "base/check.h"
#include "sim/cluster.h"

namespace outpace::sim {
namespace {

constexpr int kBeatsPerTimeout = 5;  // As live.

}  // namespace

void Cluster::join(std::uint32_t worker, bool again) {
  using enum Way;
  if (server_back_) {  // It tries until there is one.
    queue_.push(*server_back_ + kReconnect, {Kind::kJoin, worker, again ? 1U : 0U});
    return;
  }
  Worker& newcomer = workers_[worker];
  if (newcomer.alive || (again && !newcomer.rejoins)) {
    return;
  }
  const Time open = message_faults_.open(
      WorkerId{worker}, kToServer, message_faults_.open(WorkerId{worker}, kToWorker, now_));
  if (open > now_) {  // Nobody answers; it tries until somebody does.
    queue_.push(open, {Kind::kJoin, worker, again ? 1U : 0U});
    return;
  }
  newcomer.alive = true;
  newcomer.rejoins = false;
  newcomer.inbox = {};
  newcomer.connection = ConnectionId{++connections_};
  if (!again) {
    newcomer.process = ++processes_;
    if (packer_) {
      packer_->started(WorkerId{worker});
    }
  }
  greet({.peer = newcomer.connection,
         .worker = WorkerId{worker},
         .process = newcomer.process,
         .network = network_});
  CHECK(finish_ || admission_->member(WorkerId{worker}) == newcomer.connection);
  if (hearts_beat_) {
    beat(worker, newcomer.incarnation);
  }
}

void Cluster::befall(const Fault& fault) {
  const auto id = static_cast<std::uint32_t>(index(fault.worker));
  Worker& worker = workers_[id];
  if (greets(fault.kind)) {
    return befall_greeting(fault);
  }
  if (fault.kind == Fault::Kind::kServer) {
    return server_dies(*fault.lasts);
  }
  if (fault.kind == Fault::Kind::kSlow) {
    ++fault_counts_.slowed;
    worker.slow_until = now_ + *fault.lasts;
    worker.slow_factor = fault.factor;
    return;
  }
  if (fault.kind == Fault::Kind::kPause || fault.kind == Fault::Kind::kHang) {
    return pause(id, *fault.lasts, fault.kind == Fault::Kind::kHang);
  }
  if (fault.kind == Fault::Kind::kJoin) {
    fault_counts_.joined_late += worker.alive ? 0 : 1;
    return join(id, /*again=*/false);
  }
  worker.rejoins = false;
  worker.paused_until = Time{};
  worker.silent_until = Time{};
  if (worker.alive) {
    const bool leaves = fault.kind == Fault::Kind::kLeave;
    ++(leaves ? fault_counts_.left : fault_counts_.crashed);
    cut_off(id, leaves);
  }
  if (fault.lasts) {
    queue_.push(std::max(now_ + *fault.lasts, worker.last_departure), {Kind::kJoin, id, 0});
  }
}

void Cluster::pause(std::uint32_t worker, Duration lasts, bool hangs) {
  Worker& paused = workers_[worker];
  if (!paused.alive) {
    return;
  }
  ++(hangs ? fault_counts_.hung : fault_counts_.paused);
  if (!hangs) {
    paused.silent_until = std::max(paused.silent_until, now_ + lasts);
  }
  const Time from = std::max(now_, paused.paused_until);
  paused.paused_until = std::max(from, now_ + lasts);
  paused.last_arrival = std::max(paused.last_arrival, paused.paused_until);
  if (!ahead_.empty()) {
    ahead_[worker].pushed += paused.paused_until - from;
  }
  if (paused.computing) {  // It goes on where it was.
    queue_.cancel(paused.done);
    paused.begun += paused.paused_until - from;
    finish_at(worker, paused.done_at + (paused.paused_until - from));
  }
}

void Cluster::cut_off(std::uint32_t worker, bool said_goodbye) {
  Worker& lost = workers_[worker];
  lost.alive = false;
  if (!ahead_.empty()) {
    ahead_[worker] = {};
  }
  if (gradients_) {
    gradients_->forget(WorkerId{worker});
  }
  if (lost.computing) {
    queue_.cancel(lost.done);
    end_task(lost);
  }
  // The server hears of it after what was sent before.
  const Event news{Kind::kGone,
                   worker,
                   2 * static_cast<std::uint64_t>(lost.connection) + (said_goodbye ? 1U : 0U)};
  if (said_goodbye) {
    post(news, std::nullopt);
  } else {
    lose_transfers(worker);
    after_latency(news);
  }
}

void Cluster::lose_connection(std::uint32_t worker) {
  Worker& lost = workers_[worker];
  if (!lost.alive) {
    return;
  }
  const Time back = std::max(now_ + kReconnect, lost.paused_until);
  // The server notices later than the worker, which is often back by then.
  lost.last_departure = std::max(lost.last_departure, now_ + 2 * kReconnect);
  cut_off(worker, /*said_goodbye=*/false);
  lost.rejoins = true;
  queue_.push(back, {Kind::kJoin, worker, 1});
}

void Cluster::beat(std::uint32_t worker, std::uint64_t incarnation) {
  const Worker& from = workers_[worker];
  if (!from.alive || from.incarnation != incarnation || finish_) {
    return;
  }
  queue_.push(now_ + options_.coordinator.heartbeat_timeout / kBeatsPerTimeout,
              {Kind::kHeartbeat, worker, incarnation});
  if (now_ >= from.silent_until) {
    to_server(worker, {.message = protocol::Heartbeat{}, .incarnation = from.incarnation});
  }
}

void Cluster::gone(std::uint64_t how) {
  const ConnectionId connection{how / 2};
  const admission::Peer* const peer = admission_->find(connection);
  if (how % 2 == 1 && peer != nullptr && peer->role == admission::Role::kWorker) {
    tell_observer(admission::WorkerLeaves{connection});
    to_admission([&](auto& out) { admission_->goodbye(connection, out); });
  }
  close(connection);
}

}  // namespace outpace::sim
