// The cluster's workers: what each does with a message, and how long its task takes.

#include <algorithm>
#include <utility>

#include "sim/cluster.h"

namespace outpace::sim {
namespace {

Duration stretched(Duration duration, double factor) {
  return factor == 1.0 ? duration : from_seconds(to_seconds(duration) * factor);
}

}  // namespace

void Cluster::at_worker(std::uint32_t worker, std::size_t slot) {
  if (now_ < workers_[worker].paused_until) {
    queue_.push(workers_[worker].paused_until, {Kind::kAtWorker, worker, slot});
    return;
  }
  Mail mail = take_out(slot);
  if (workers_[worker].alive && workers_[worker].incarnation == mail.incarnation) {
    if (const auto* const verdict = std::get_if<protocol::Verdict>(&mail.message)) {
      judge(worker, *verdict);
    }
    workers_[worker].inbox.receive(mail.message);
    read_inbox(worker, mail.weights);
  }
}

void Cluster::read_inbox(std::uint32_t worker, Weights& weights) {
  Worker& to = workers_[worker];
  if (to.inbox.stopped()) {
    ++fault_counts_.presumed_dead;
    return lose_connection(worker);
  }
  if (to.inbox.take()) {
    begin(worker, weights);
  }
  if (to.computing && to.inbox.cancelled() != worker::CancelMode::kNone) {
    give_up(worker, to.inbox.cancelled());
  }
}

void Cluster::begin(std::uint32_t worker, Weights& weights) {
  Worker& to = workers_[worker];
  const protocol::Release& task = to.inbox.newest();
  to.computing = true;
  to.weights = std::move(weights);
  to.begun = begun(worker);
  to.examples = static_cast<std::uint32_t>(server::total_size(task.ranges));
  const double share = static_cast<double>(to.examples) / static_cast<double>(task.nominal);
  const Time done = std::max(now_, timing_.finish(WorkerId{worker}, to.begun, share, to.iteration));
  if (gradients_ && to.begun < now_) {
    const double made = timing_.done(WorkerId{worker}, to.begun, now_, to.iteration);
    gradients_->made_ahead(WorkerId{worker}, static_cast<std::size_t>(std::min(made, share)));
  }
  if (!overlapped_.empty()) {
    return begin_overlapped(worker, done, share);
  }
  to.stretch = now_ < to.slow_until ? to.slow_factor : 1.0;
  finish_at(worker, now_ + stretched(done - now_, to.stretch));
}

Time Cluster::begun(std::uint32_t worker) const {
  if (ahead_.empty()) {
    return now_;
  }
  const Ahead& its = ahead_[worker];
  const protocol::Ranges& ranges = workers_[worker].inbox.newest().ranges;
  return its.next == ranges && ranges.back().epoch == its.epoch ? its.pushed : now_;
}

std::optional<Time> Cluster::due(WorkerId worker) const {
  const Worker& one = workers_[index(worker)];
  const Time due = one.done_at + options_.latency;
  return one.alive && due >= now_ ? std::optional(due) : std::nullopt;
}

void Cluster::finish_at(std::uint32_t worker, Time time) {
  workers_[worker].done = queue_.push(time, {Kind::kFinished, worker, 0});
  workers_[worker].done_at = time;
}

void Cluster::give_up(std::uint32_t worker, worker::CancelMode mode) {
  Worker& from = workers_[worker];
  if (from.keeps_part) {  // Asked before.
    return;
  }
  const auto nominal = static_cast<double>(from.inbox.newest().nominal);
  const double whole = static_cast<double>(from.examples) / nominal;
  const Duration waited = overlapped_.empty() ? Duration{} : overlapped_[worker].waited;
  const Time unstretched = from.begun + stretched(now_ - from.begun - waited, 1.0 / from.stretch);
  const double done =
      std::min(whole, timing_.done(WorkerId{worker}, from.begun, unstretched, from.iteration));
  const auto examples = options_.coordinator.local_steps
                            ? std::min(from.examples, whole_steps(worker, done))
                            : static_cast<std::uint32_t>(done * nominal + 1e-9);
  if (mode == worker::CancelMode::kKeepPart && examples == from.examples) {
    return;  // It is as good as done.
  }
  if (overlapped_.empty()) {
    queue_.cancel(from.done);
  } else {
    give_up_overlapped(worker);
  }
  if (mode == worker::CancelMode::kKeepPart && examples > 0) {
    from.examples = examples;
    from.keeps_part = true;
    const double share = static_cast<double>(examples) / nominal;
    finish_at(worker,
              timing_.finish_part(WorkerId{worker}, from.begun, now_, share, from.iteration));
    return;
  }
  Mail mail{.message = protocol::Abandoned{identity(worker)}, .incarnation = from.incarnation};
  end_task(from);
  to_server(worker, std::move(mail));
}

// Local steps end with the mini-batch that the worker is at.
std::uint32_t Cluster::whole_steps(std::uint32_t worker, double done) const {
  return (static_cast<std::uint32_t>(done) + 1) * workers_[worker].inbox.newest().nominal;
}

void Cluster::end_task(Worker& worker) {
  worker.computing = false;
  worker.weights.reset();
  worker.keeps_part = false;
  ++worker.iteration;
}

void Cluster::push(std::uint32_t worker) {
  Worker& from = workers_[worker];
  protocol::Push push{.id = identity(worker),
                      .examples = from.examples,
                      .partial = from.keeps_part,
                      .loss = 0.0,
                      .compute_seconds = to_seconds(now_ - from.begun)};
  std::vector<float> gradient;
  if (gradients_) {
    WorkerGradients::Made made =
        gradients_->make(WorkerId{worker}, from.inbox.newest(), from.examples, *from.weights);
    push.loss = made.loss;
    gradient = std::move(made.gradient);
    pack(worker, push.id.sequence, gradient);
  }
  if (overlapped_.empty() && options_.performed) {
    const auto nominal = static_cast<double>(from.inbox.newest().nominal);
    perform({Operation::Kind::kCompute,
             worker,
             0,
             timing_.computes_from(
                 WorkerId{worker}, from.begun, now_, from.examples / nominal, from.iteration),
             now_});
  } else if (options_.performed) {
    perform_passes(worker);
  }
  if (!ahead_.empty()) {
    const protocol::Release& task = from.inbox.newest();
    ahead_[worker] = {.next = task.ahead.empty() ? protocol::Ranges{} : task.ahead.front(),
                      .epoch = task.ranges.back().epoch,
                      .pushed = now_};
  }
  end_task(from);
  if (at_once_ && options_.apply == Duration{}) {  // No event: nothing can come between.
    return serve_push(push, std::move(gradient));
  }
  Mail mail{.message = push, .incarnation = from.incarnation, .gradient = std::move(gradient)};
  if (at_once_) {
    at_server(worker, store(std::move(mail)));
  } else {
    to_server(worker, std::move(mail));
  }
}

void Cluster::to_server(std::uint32_t worker, Mail&& mail) {
  const bool is_gradient = std::holds_alternative<protocol::Push>(mail.message);
  if (!overlapped_.empty()) {
    Overlapped& its = overlapped_[worker];
    const double bytes = is_gradient ? packer_->gradient_bytes() - its.sliced : 0.0;
    its.sliced = is_gradient ? 0.0 : its.sliced;
    const std::size_t last = options_.overlap->slices.size() - 1;
    return enqueue(worker, {.slot = store(std::move(mail)), .bytes = bytes, .part = last});
  }
  post({Kind::kAtServer, worker, store(std::move(mail))},
       is_gradient && transfers_ ? std::optional(packer_->gradient_bytes()) : std::nullopt);
}

void Cluster::judge(std::uint32_t worker, const protocol::Verdict& verdict) {
  if (packer_) {
    packer_->judged(WorkerId{worker}, verdict);
  }
}

void Cluster::pack(std::uint32_t worker, Sequence release, std::vector<float>& gradient) {
  // A live worker waits for the verdict on its last push, even if newer weights overtake it.
  const Sequence last = packer_->unanswered(WorkerId{worker});
  packer_->settle(WorkerId{worker}, coordinator_->counted(WorkerId{worker}, last));
  packer_->pack(WorkerId{worker}, release, gradient);
}

protocol::GradientId Cluster::identity(std::uint32_t worker) const {
  return {.job = options_.coordinator.job,
          .generation = generation_,
          .worker = WorkerId{worker},
          .incarnation = workers_[worker].incarnation,
          .sequence = workers_[worker].inbox.newest().sequence};
}

}  // namespace outpace::sim
