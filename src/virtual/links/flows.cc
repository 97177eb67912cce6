#include "links/flows.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"

namespace outpace::links {
namespace {

constexpr double kPerSecond = 1e9;  // Nanoseconds.

double seconds(double nanoseconds) {
  return nanoseconds / kPerSecond;
}

Time rounded(double nanoseconds) {
  constexpr auto kLast = static_cast<double>(INT64_MAX);
  return nanoseconds >= kLast ? Time::max() : Time{Duration{std::llround(nanoseconds)}};
}

// A flow's id is its number and, in the low bits, its place in the list, which is reused.
constexpr unsigned kPlaceBits = 24;
constexpr std::uint64_t kPlaces = std::uint64_t{1} << kPlaceBits;

// In nanoseconds: events that are no further apart than rounding errors are one event.
double same_instant(double time) {
  return time + 1e-3 + time * 1e-15;
}

}  // namespace

Flows::Flows(std::span<const Link> links)
    : links_(links.begin(), links.end()),
      share_(links),
      services_(links.size()),
      ends_(links.size()) {
  for (const Link& link : links_) {
    CHECK(link.latency >= 0 && std::isfinite(link.latency));
  }
}

FlowId Flows::start(std::span<const LinkId> route, double bytes) {
  CHECK(bytes >= 0 && std::isfinite(bytes));
  if (free_.empty()) {
    CHECK(flows_.size() < kPlaces);
    free_.push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.emplace_back();
    finishes_.emplace_back();
  }
  const std::uint32_t at = free_.back();
  free_.pop_back();
  double latency = 0.0;
  for (const LinkId link : route) {
    latency += links_.at(links::index(link)).latency;
  }
  FlowState& flow = flows_[at];
  CHECK(started_ < UINT64_MAX / kPlaces);
  flow.id = FlowId{started_++ * kPlaces + at};
  flow.phase = Phase::kWaiting;
  flow.bytes = bytes;
  flow.weight = latency > 0 ? 1 / latency : 1.0;
  flow.route.assign(route.begin(), route.end());
  waiting_.emplace_back(clock_ + latency * kPerSecond, flow.id);
  std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
  return flow.id;
}

void Flows::cancel(FlowId flow) {
  release(place(flow));
}

std::optional<Time> Flows::next() {
  const Nanoseconds first = first_event();
  return first == Earliest::kNever ? std::nullopt
                                   : std::optional<Time>(std::max(now_, rounded(first)));
}

void Flows::advance(Time now, std::vector<FlowId>& completed) {
  CHECK(now >= now_);
  for (Nanoseconds first = first_event(); first != Earliest::kNever && rounded(first) <= now;
       first = first_event()) {
    step(first, completed);
  }
  now_ = now;
  clock_ = std::max(clock_, static_cast<Nanoseconds>(now.time_since_epoch().count()));
}

double Flows::rate(FlowId flow) {
  settle();
  const std::uint32_t at = place(flow);
  return flows_[at].phase == Phase::kSharing ? share_.rate(at) : 0.0;
}

double Flows::remaining(FlowId flow) {
  settle();
  const std::uint32_t at = place(flow);
  const FlowState& state = flows_[at];
  if (state.phase == Phase::kWaiting) {
    return state.bytes;
  }
  const Nanoseconds left = end_of(finishes_[at], share_.bottleneck(at)) - clock_;
  return std::clamp(seconds(left) * share_.rate(at), 0.0, state.bytes);
}

std::uint32_t Flows::place(FlowId flow) const {
  const auto at = static_cast<std::uint32_t>(static_cast<std::uint64_t>(flow) % kPlaces);
  CHECK(at < flows_.size() && flows_[at].id == flow && flows_[at].phase != Phase::kFree);
  return at;
}

bool Flows::is_waiting(FlowId flow) const {
  const FlowState& state = flows_[static_cast<std::uint64_t>(flow) % kPlaces];
  return state.id == flow && state.phase == Phase::kWaiting;
}

Flows::Nanoseconds Flows::first_event() {
  settle();
  while (!waiting_.empty() && !is_waiting(waiting_.front().second)) {
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    waiting_.pop_back();
  }
  return std::min(ends_.first(), waiting_.empty() ? Earliest::kNever : waiting_.front().first);
}

Flows::Nanoseconds Flows::end_of(double finish, LinkId bottleneck) const {
  const Service& service = services_[links::index(bottleneck)];
  return service.at + (finish - service.bytes) / share_.level(bottleneck) * kPerSecond;
}

// Ends everything that ends at this instant together. The bandwidth of a hundred flows that
// complete together is then shared out anew once, not a hundred times.
void Flows::step(Nanoseconds time, std::vector<FlowId>& completed) {
  clock_ = std::max(clock_, time);
  batch_.clear();
  end_flows(same_instant(clock_));
  end_latencies(same_instant(clock_));
  std::sort(batch_.begin(), batch_.end());
  for (const FlowId flow : batch_) {
    release(place(flow));
  }
  completed.insert(completed.end(), batch_.begin(), batch_.end());
}

void Flows::end_flows(Nanoseconds until) {
  due_links_.clear();
  ends_.collect(until, due_links_);
  for (const std::uint32_t link : due_links_) {
    for (const Sharers::Share& share : share_.on(LinkId{link})) {
      if (share_.bottleneck(share.flow) == LinkId{link} &&
          end_of(finishes_[share.flow], LinkId{link}) <= until) {
        batch_.push_back(flows_[share.flow].id);
      }
    }
  }
}

void Flows::end_latencies(Nanoseconds until) {
  while (!waiting_.empty() && waiting_.front().first <= until) {
    const FlowId id = waiting_.front().second;
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    waiting_.pop_back();
    if (is_waiting(id)) {
      const std::uint32_t at = place(id);
      if (flows_[at].bytes == 0 || flows_[at].route.empty()) {
        batch_.push_back(id);
      } else {
        share_.add(at, flows_[at].weight, flows_[at].route);
        flows_[at].phase = Phase::kSharing;
        settled_ = false;
      }
    }
  }
}

// Shares the links out anew if flows came or went since the last time. Brings the service of each
// changed link up to now, moves flows from one bottleneck to another, and finds the links' next
// ends.
void Flows::settle() {
  if (settled_) {
    return;
  }
  settled_ = true;
  share_.settle(changes_);
  for (const auto& [link, level] : changes_.links) {
    Service& service = services_[links::index(link)];
    service.bytes =
        level == kUnlimited ? 0.0 : service.bytes + level * seconds(clock_ - service.at);
    service.at = clock_;
  }
  for (const auto& [at, before] : changes_.flows) {
    double left = flows_[at].bytes / flows_[at].weight;
    if (before != FairShare::kNoLink) {
      left = finishes_[at] - services_[links::index(before)].bytes;
      leave(at, before);
    }
    Service& service = services_[links::index(share_.bottleneck(at))];
    finishes_[at] = service.bytes + left;
    service.first = std::min(service.first, finishes_[at]);
  }
  for (const auto& [link, level] : changes_.links) {
    const double first = first_finish(link);
    ends_.set(links::index(link), first == Earliest::kNever ? first : end_of(first, link));
  }
}

void Flows::leave(std::uint32_t at, LinkId bottleneck) {
  Service& service = services_[links::index(bottleneck)];
  service.first_left |= finishes_[at] == service.first;
}

double Flows::first_finish(LinkId link) {
  Service& service = services_[links::index(link)];
  if (std::exchange(service.first_left, false)) {
    service.first = Earliest::kNever;
    for (const Sharers::Share& share : share_.on(link)) {
      if (share_.bottleneck(share.flow) == link) {
        service.first = std::min(service.first, finishes_[share.flow]);
      }
    }
  }
  return service.first;
}

void Flows::release(std::uint32_t at) {
  if (flows_[at].phase == Phase::kSharing) {
    if (share_.bottleneck(at) != FairShare::kNoLink) {
      leave(at, share_.bottleneck(at));
    }
    share_.remove(at);
    settled_ = false;
  }
  flows_[at].phase = Phase::kFree;
  free_.push_back(at);
}

}  // namespace outpace::links
