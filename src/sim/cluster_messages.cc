// The part of the cluster that sees to messages under way.

#include <algorithm>
#include <utility>

#include "sim/cluster.h"

namespace outpace::sim {
namespace {

// What would end later never does: times are 64 bits of nanoseconds.
constexpr Duration kTooLate = std::chrono::hours(24 * 365 * 100);

}  // namespace

void Cluster::post(const Event& event, bool with_payload) {
  if (!transfers_) {
    return after_latency(event);
  }
  const bool to_worker = event.kind == Kind::kAtWorker;
  transfers_->send(now_,
                   {.way = to_worker ? Transfers::Way::kToWorker : Transfers::Way::kToServer,
                    .worker = event.worker,
                    .label = 2 * event.number + (event.kind == Kind::kGone ? 1U : 0U)},
                   with_payload);
}

void Cluster::after_latency(const Event& event) {
  // In order: what was sent earlier arrives earlier.
  Worker& worker = workers_[event.worker];
  Time& last = event.kind == Kind::kAtWorker ? worker.last_arrival : worker.last_departure;
  last = std::max(last, now_ + options_.latency);
  queue_.push(last, event);
}

void Cluster::take_arrivals() {
  transfers_told_.clear();
  transfers_->arrive(now_, transfers_told_);
  for (const auto& [way, worker, label] : transfers_told_) {
    const Kind to_server = label % 2 == 1 ? Kind::kGone : Kind::kAtServer;
    after_latency(
        {way == Transfers::Way::kToWorker ? Kind::kAtWorker : to_server, worker, label / 2});
  }
}

void Cluster::schedule_transfers() {
  const std::optional<Time> next = transfers_ ? transfers_->next() : std::nullopt;
  if (next == transfers_at_) {
    return;
  }
  if (transfers_due_) {
    queue_.cancel(*transfers_due_);
    transfers_due_.reset();
  }
  transfers_at_ = next;
  if (next && *next < Time{kTooLate}) {
    transfers_due_ = queue_.push(std::max(now_, *next), {Kind::kTransfers, 0, 0});
  }
}

void Cluster::cut_off(std::uint32_t worker) {
  if (!transfers_) {
    return;
  }
  take_arrivals();
  transfers_told_.clear();
  transfers_->cut_off(now_, worker, transfers_told_);
  for (const Transfers::Message& lost : transfers_told_) {
    (void)take_out(lost.label / 2);
  }
  Time& last = workers_[worker].last_departure;
  last = std::max(last,
                  now_ + transfers_->latency(Transfers::Way::kToServer, worker) + options_.latency);
}

std::size_t Cluster::store(Mail mail) {
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
