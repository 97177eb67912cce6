// The part of the cluster that sees to messages under way.

#include <algorithm>
#include <utility>

#include "sim/cluster.h"

namespace outpace::sim {
namespace {

// Whether a message may come twice, or late and overtaken. A release and a heartbeat may not: the
// stream that carries them keeps its order, and nobody has a use for a copy.
bool may_stray(const protocol::Message& message) {
  return std::holds_alternative<protocol::Push>(message) ||
         std::holds_alternative<protocol::Abandoned>(message) ||
         std::holds_alternative<protocol::Cancel>(message) ||
         std::holds_alternative<protocol::Verdict>(message);
}

}  // namespace

void Cluster::post(const Event& event, std::optional<double> payload) {
  if (!transfers_) {
    return after_latency(event);
  }
  const bool to_worker = event.kind == Kind::kAtWorker;
  const Transfers::Message message{
      .way = to_worker ? Way::kToWorker : Way::kToServer,
      .worker = event.worker,
      .label = 2 * event.number + (event.kind == Kind::kGone ? 1U : 0U)};
  if (payload) {
    transfers_->send_payload(now_, message, *payload);
  } else {
    transfers_->send(now_, message, /*with_payload=*/false);
  }
}

void Cluster::after_latency(const Event& event) {
  // In order: what was sent earlier arrives earlier.
  const WorkerId id{event.worker};
  Worker& worker = workers_[event.worker];
  Time& last = event.kind == Kind::kAtWorker ? worker.last_arrival : worker.last_departure;
  const Time arrival = std::max(last, now_ + options_.latency);
  if (event.kind == Kind::kGone) {
    last = message_faults_.open(id, Way::kToServer, arrival);
    queue_.push(last, event);
    return;
  }
  const MessageFaults::Passage passage = message_faults_.pass(
      id,
      event.kind == Kind::kAtServer ? Way::kToServer : Way::kToWorker,
      {.at = now_, .arrives = arrival, .may_stray = may_stray(mail_[event.number].message)});
  if (passage.lost) {
    (void)take_out(event.number);
    return lose_connection(event.worker);
  }
  if (!passage.overtaken) {
    last = passage.arrival;
  }
  if (passage.again) {
    queue_.push(*passage.again, {event.kind, event.worker, store(Mail(mail_[event.number]))});
  }
  queue_.push(passage.arrival, event);
}

void Cluster::take_arrivals() {
  // A vector of its own: a message that is lost breaks a connection, which loses transfers.
  std::vector<Transfers::Message> arrived;
  arrived.swap(transfers_told_);
  arrived.clear();
  transfers_->arrive(now_, arrived);
  for (const auto& [way, worker, label, piece] : arrived) {
    if (way == Way::kToWorker && piece > 0) {
      queue_.push(now_ + options_.latency, {Kind::kPiece, worker, piece});
      continue;
    }
    if (way == Way::kToServer && !overlapped_.empty()) {
      const bool is_message = overlapped_[worker].queue.front().slot.has_value();
      sent(worker);
      if (!is_message) {
        continue;
      }
    }
    const Kind to_server = label % 2 == 1 ? Kind::kGone : Kind::kAtServer;
    after_latency({way == Way::kToWorker ? Kind::kAtWorker : to_server, worker, label / 2});
  }
  transfers_told_.swap(arrived);  // For its memory.
}

void Cluster::lose_transfers(std::uint32_t worker) {
  if (!transfers_) {
    return;
  }
  take_arrivals();
  transfers_told_.clear();
  transfers_->cut_off(now_, worker, transfers_told_);
  for (const Transfers::Message& lost : transfers_told_) {
    if (lost.label % 2 == 0) {  // Not that an earlier connection of the worker ended.
      (void)take_out(lost.label / 2);
    }
  }
  Time& last = workers_[worker].last_departure;
  last = std::max(last, now_ + transfers_->latency(Way::kToServer, worker) + options_.latency);
}

std::size_t Cluster::store(Mail&& mail) {
  if (free_mail_.empty()) {
    mail_.push_back(std::move(mail));
    return mail_.size() - 1;
  }
  const std::size_t slot = free_mail_.back();
  free_mail_.pop_back();
  mail_[slot] = std::move(mail);
  return slot;
}

Cluster::Mail Cluster::take_out(std::size_t slot) {
  free_mail_.push_back(slot);
  return std::move(mail_[slot]);
}

}  // namespace outpace::sim
