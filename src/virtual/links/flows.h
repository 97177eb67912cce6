// Transfers over a cluster's links in virtual time: how fast each proceeds, and when it completes.
//
// A flow first waits for the latency of its route, the sum of its links' latencies, and takes no
// bandwidth. Then it shares its links with other flows, max-min fairly with weight 1 / latency,
// until its bytes are through; a flow without latency has weight 1. This is SimGrid's model CM02,
// without a window's bound on the rate (its TCP-gamma) and without acknowledgements (Casanova &
// Marchal, "A Network Model for Simulation of Grid Application", 2002).
//
// Time stands still between calls of advance(). The driver's loop:
//
//   flows.start(route, bytes);                 // Now, as is cancel().
//   const auto time = flows.next();            // Nothing happens before it.
//   flows.advance(*time, completed);           // Flows that complete by then, in order.
//
// Times are kept in fractions of nanoseconds and rounded to whole ones for callers.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/time.h"
#include "links/earliest.h"
#include "links/fair_share.h"
#include "links/link.h"

namespace outpace::links {

// Unique, and in the order of the starts.
enum class FlowId : std::uint64_t {};

class Flows {
 public:
  explicit Flows(std::span<const Link> links);

  // The time of the last advance(); 0 before.
  [[nodiscard]] Time now() const { return now_; }

  // A link that occurs on the route several times carries each byte as often. An empty route takes
  // no time. REQUIRES: bytes is finite and at least 0.
  FlowId start(std::span<const LinkId> route, double bytes);
  // REQUIRES: the flow was started, and is neither complete nor cancelled.
  void cancel(FlowId flow);

  // The latest time at which to call advance() again: the end of a flow, or the end of a latency,
  // at which nothing may be visible. Nothing if no flow is left.
  [[nodiscard]] std::optional<Time> next();
  // Appends the flows that complete up to `now`, in order of time, and of their starts if at the
  // same time. REQUIRES: now >= now().
  void advance(Time now, std::vector<FlowId>& completed);

  // Bytes/s of a flow that is not complete; 0 during its latency.
  [[nodiscard]] double rate(FlowId flow);
  // Bytes that are not through yet.
  [[nodiscard]] double remaining(FlowId flow);

 private:
  using Nanoseconds = double;
  enum class Phase : std::uint8_t { kFree, kWaiting, kSharing };

  struct FlowState {
    FlowId id{};
    Phase phase = Phase::kFree;
    double bytes = 0.0;
    double weight = 0.0;
    std::vector<LinkId> route;
  };
  // The bytes that a flow of weight 1 would have received so far if this link had always limited
  // it. While the level changes, the finish of every flow that the link limits thus stays the same.
  struct Service {
    double bytes = 0.0;
    Nanoseconds at = 0.0;
    double first = Earliest::kNever;  // The smallest of these finishes,
    bool first_left = false;          // unless its flow is no longer limited by the link.
  };
  using Waiting = std::pair<Nanoseconds, FlowId>;  // The end of a latency.

  [[nodiscard]] std::uint32_t place(FlowId flow) const;
  [[nodiscard]] bool is_waiting(FlowId flow) const;
  [[nodiscard]] Nanoseconds first_event();
  [[nodiscard]] Nanoseconds end_of(double finish, LinkId bottleneck) const;
  void step(Nanoseconds time, std::vector<FlowId>& completed);
  void end_latencies(Nanoseconds until);
  void end_flows(Nanoseconds until);
  void settle();
  // The link no longer limits this flow. Its finish is what it was there.
  void leave(std::uint32_t at, LinkId bottleneck);
  [[nodiscard]] double first_finish(LinkId link);
  void release(std::uint32_t at);

  std::vector<Link> links_;  // Constant after construction.

  Time now_{};
  Nanoseconds clock_ = 0.0;  // now_, up to a nanosecond.
  std::uint64_t started_ = 0;
  bool settled_ = true;
  FairShare share_;
  std::vector<FlowState> flows_;
  std::vector<double> finishes_;  // By flow: the service of its bottleneck at which it completes.
  std::vector<std::uint32_t> free_;
  // A heap, earliest first; flows that were cancelled meanwhile stay in it.
  std::vector<Waiting> waiting_;
  std::vector<Service> services_;  // By link.
  Earliest ends_;                  // By link: the first end of a flow that the link limits.
  // Kept to reuse their memory.
  FairShare::Changes changes_;
  std::vector<std::uint32_t> due_links_;
  std::vector<FlowId> batch_;
};

}  // namespace outpace::links
