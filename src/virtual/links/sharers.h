// Which flows use which links. It has the flows of each link and the hops of each flow, and each
// entry knows its place in the other list.
//
// set_live() makes a link *live* or not. A flow's live hops come first among its hops, so that a
// search from link to link need not skip the others.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "links/link.h"

namespace outpace::links {

class Sharers {
 public:
  using Flow = std::uint32_t;  // The caller's numbers: small, and reusable after remove().

  struct Hop {
    std::uint32_t link;
    std::uint32_t place;  // In the link's shares.
  };
  static constexpr std::uint32_t kNoLink = UINT32_MAX;
  // A flow on a link, and the bandwidth it takes there per unit of level: its weight, times the
  // number of times the link is on its route (always once for a fatpipe).
  struct Share {
    double weight;
    double elsewhere;  // Set by the caller: the lowest level on the flow's other links.
    Flow flow;
    std::uint32_t hop;  // In the flow's hops.
    // The flow's other live hop, if this one is live and there is exactly one; otherwise its link
    // is kNoLink. It saves searches a detour over the flow.
    Hop other;
  };

  explicit Sharers(std::span<const Link> links);

  // Each link occurs once among the hops, not in the route's order. REQUIRES: the flow does not
  // exist; the route is not empty.
  void add(Flow flow, double weight, std::span<const LinkId> route);
  // REQUIRES: the flow exists.
  void remove(Flow flow);
  // At first no link is live.
  void set_live(std::uint32_t link, bool live);

  [[nodiscard]] bool contains(Flow flow) const { return !flows_.at(flow).hops.empty(); }
  [[nodiscard]] double weight(Flow flow) const { return flows_[flow].weight; }
  [[nodiscard]] std::span<const Hop> hops(Flow flow) const { return flows_[flow].hops; }
  [[nodiscard]] std::span<const Hop> live_hops(Flow flow) const {
    return {flows_[flow].hops.data(), flows_[flow].live};
  }
  [[nodiscard]] std::span<const Hop> other_hops(Flow flow) const {
    return hops(flow).subspan(flows_[flow].live);
  }
  [[nodiscard]] bool live(std::uint32_t link) const { return links_[link].live; }
  [[nodiscard]] std::span<const Share> on(std::uint32_t link) const { return links_[link].shares; }
  [[nodiscard]] std::span<Share> on(std::uint32_t link) { return links_[link].shares; }

 private:
  struct LinkState {
    Sharing sharing = Sharing::kShared;
    bool live = false;
    std::vector<Share> shares;
  };
  struct FlowState {
    double weight = 0.0;
    std::uint32_t live = 0;  // Number of live hops.
    std::vector<Hop> hops;
  };

  void swap_hops(Flow flow, std::uint32_t a, std::uint32_t b);
  void tell_others(Flow flow);

  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
};

}  // namespace outpace::links
