// Transfers over a cluster's links in virtual time: who gets how much when, and who is done when.
//
// A flow first waits for the latency of its route, the sum of its links', and takes nothing. Then
// it shares its links with the others there, max-min fairly, with weight 1 / latency, until its
// bytes are through; a flow without latency has weight 1. That is the model that SimGrid calls
// CM02, without a window's bound on the rate (its TCP-gamma) and without acknowledgements (Casanova
// & Marchal, "A Network Model for Simulation of Grid Application", 2002).
//
// Time stands still between calls to advance(). The driver's loop:
//
//   flows.start(route, bytes);                 // Now; so is cancel().
//   const auto time = flows.next();            // Nothing happens before it.
//   flows.advance(*time, completed);           // What is complete by then, in order.
//
// Times are kept as fractions of nanoseconds, and rounded to the nearest one to the outside only.

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

  // A link that stands on the route more than once carries each byte as often. An empty route takes
  // no time at all. REQUIRES: bytes is finite and at least 0.
  FlowId start(std::span<const LinkId> route, double bytes);
  // REQUIRES: the flow was started, and is neither complete nor cancelled.
  void cancel(FlowId flow);

  // When advance() should be called again at the latest: at the end of a latency, where nothing may
  // show, or of a flow. Nothing if no flow is left.
  [[nodiscard]] std::optional<Time> next();
  // Appends the flows that complete up to `now`, in order of time, and then of their starts.
  // REQUIRES: now >= now().
  void advance(Time now, std::vector<FlowId>& completed);

  // Bytes/s of a flow that is not complete; 0 while it waits for its latency.
  [[nodiscard]] double rate(FlowId flow);
  // Bytes that are not through.
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
  // What a flow of weight 1 would have got so far if this link had always limited it: while the
  // level changes, the finish of every flow that the link limits stays where it is.
  struct Service {
    double bytes = 0.0;
    Nanoseconds at = 0.0;
    double first = Earliest::kNever;  // The least of these finishes,
    bool first_left = false;          // unless the flow that had it is no longer among them.
  };
  using Waiting = std::pair<Nanoseconds, FlowId>;  // The end of the latency.

  [[nodiscard]] std::uint32_t place(FlowId flow) const;
  [[nodiscard]] bool is_waiting(FlowId flow) const;
  [[nodiscard]] Nanoseconds first_event();
  [[nodiscard]] Nanoseconds end_of(double finish, LinkId bottleneck) const;
  void step(Nanoseconds time, std::vector<FlowId>& completed);
  void end_latencies(Nanoseconds until);
  void end_flows(Nanoseconds until);
  void settle();
  // The flow is no longer of those that the link limits. Its finish is as it was there.
  void leave(std::uint32_t at, LinkId bottleneck);
  [[nodiscard]] double first_finish(LinkId link);
  void release(std::uint32_t at);

  std::vector<Link> links_;  // Constant after construction.

  Time now_{};
  Nanoseconds clock_ = 0.0;  // now_, or less than a nanosecond off.
  std::uint64_t started_ = 0;
  bool settled_ = true;
  FairShare share_;
  std::vector<FlowState> flows_;
  std::vector<double> finishes_;  // Of the flows: the service of its bottleneck that completes it.
  std::vector<std::uint32_t> free_;
  std::vector<Waiting> waiting_;   // A heap, earliest first; those cancelled meanwhile stay in it.
  std::vector<Service> services_;  // Of the links.
  Earliest ends_;                  // Of the links: the first end of a flow that the link limits.
  // Kept for their memory.
  FairShare::Changes changes_;
  std::vector<std::uint32_t> due_links_;
  std::vector<FlowId> batch_;
};

}  // namespace outpace::links
