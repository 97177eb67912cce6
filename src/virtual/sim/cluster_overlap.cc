// Workers whose transfers overlap with their computing (overlap.h): the forward pass begins on the
// first weights, and slices of the gradient leave during the backward pass.
// Tested by src/virtual/sim/cluster_overlap_test.cc.

#include <algorithm>
#include <utility>

#include "sim/cluster.h"

namespace outpace::sim {

void Cluster::begin_overlapped(std::uint32_t worker, Time done, double share) {
  const Worker& to = workers_[worker];
  Overlapped& its = overlapped_[worker];
  its.from = timing_.computes_from(WorkerId{worker}, now_, done, share, to.iteration);
  its.seconds = to_seconds(done - its.from);
  its.waited = Duration{};
  its.complete = false;
  its.next_slice = 0;
  its.slice.reset();
  its.sliced = 0.0;
  its.arrived.clear();
  workers_[worker].stretch = 1.0;
  workers_[worker].done_at = done;
  piece_arrived(worker, 0);
}

void Cluster::piece_arrived(std::uint32_t worker, std::size_t piece) {
  Overlapped& its = overlapped_[worker];
  const Time begun = its.arrived.empty() ? its.released : its.arrived.back();
  perform({Operation::Kind::kReceive, worker, piece, begun, now_});
  its.arrived.push_back(now_);
  if (!workers_[worker].computing || its.complete) {
    return;  // It gave the task up.
  }
  const Time needed = its.from + from_seconds(its.seconds * needed_after_[piece]) + its.waited;
  its.waited += std::max(Duration{}, now_ - needed);
  if (piece + 1 == needed_after_.size()) {
    its.complete = true;
    finish_at(worker, workers_[worker].done_at + its.waited);
    schedule_slice(worker);
  }
}

void Cluster::schedule_slice(std::uint32_t worker) {
  Overlapped& its = overlapped_[worker];
  its.slice.reset();
  if (its.next_slice + 1 < ready_before_.size()) {  // The last one comes with the push.
    const Duration before = from_seconds(its.seconds * ready_before_[its.next_slice]);
    const Time ready = workers_[worker].done_at - before;
    its.slice = queue_.push(std::max(now_, ready), {Kind::kSlice, worker, 0});
  }
}

void Cluster::slice_computed(std::uint32_t worker) {
  Overlapped& its = overlapped_[worker];
  const std::size_t part = its.next_slice++;
  const double bytes = options_.overlap->slices[part].bytes;
  its.sliced += bytes;
  enqueue(worker, {.slot = {}, .bytes = bytes, .part = part});
  schedule_slice(worker);
}

void Cluster::give_up_overlapped(std::uint32_t worker) {
  Overlapped& its = overlapped_[worker];
  if (its.complete) {
    queue_.cancel(workers_[worker].done);
  }
  if (its.slice) {
    queue_.cancel(*its.slice);
    its.slice.reset();
  }
  its.complete = true;  // Nothing that still arrives is waited for.
  if (its.queue.size() > 1 && !its.queue.back().slot) {
    its.queue.pop_back();
  }
  its.sliced = 0.0;  // The part that a worker keeps is another gradient.
}

void Cluster::enqueue(std::uint32_t worker, const Outgoing& outgoing) {
  std::deque<Outgoing>& queue = overlapped_[worker].queue;
  // A slice that has not left joins the next one: the link is busy, so that nothing is late.
  if (queue.size() > 1 && !queue.back().slot && outgoing.bytes > 0.0) {
    queue.back() = {
        .slot = outgoing.slot, .bytes = queue.back().bytes + outgoing.bytes, .part = outgoing.part};
    return;
  }
  queue.push_back(outgoing);
  if (queue.size() == 1) {
    send_first(worker);
  }
}

void Cluster::send_first(std::uint32_t worker) {
  Outgoing& first = overlapped_[worker].queue.front();
  first.begun = now_;
  const Transfers::Message message{
      .way = Way::kToServer, .worker = worker, .label = 2 * first.slot.value_or(0)};
  if (first.bytes > 0.0) {
    transfers_->send_bytes(now_, message, first.bytes);
  } else {
    transfers_->send(now_, message, false);
  }
}

void Cluster::sent(std::uint32_t worker) {
  std::deque<Outgoing>& queue = overlapped_[worker].queue;
  const Outgoing& first = queue.front();
  if (first.bytes > 0.0) {
    perform({Operation::Kind::kSend, worker, first.part, first.begun, now_});
  }
  queue.pop_front();
  if (!queue.empty()) {
    send_first(worker);
  }
}

void Cluster::perform_passes(std::uint32_t worker) const {
  const Overlapped& its = overlapped_[worker];
  const Overlap& overlap = *options_.overlap;
  if (workers_[worker].keeps_part) {
    return options_.performed({Operation::Kind::kCompute, worker, 0, workers_[worker].begun, now_});
  }
  Time at = its.from;
  std::size_t piece = 0;
  for (std::size_t layer = 0; layer < overlap.layers.size(); ++layer) {
    for (; piece < overlap.pieces.size() && overlap.pieces[piece].layer <= layer; ++piece) {
      at = std::max(at, its.arrived[piece]);
    }
    const Time begin =
        std::exchange(at, at + from_seconds(its.seconds * overlap.layers[layer].forward));
    options_.performed({Operation::Kind::kForward, worker, layer, begin, at});
  }
  for (std::size_t layer = overlap.layers.size(); layer-- > 0;) {
    const Time begin =
        std::exchange(at, at + from_seconds(its.seconds * overlap.layers[layer].backward));
    options_.performed({Operation::Kind::kBackward, worker, layer, begin, at});
  }
}

}  // namespace outpace::sim
