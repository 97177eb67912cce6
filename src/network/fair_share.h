// Weighted max-min fair shares of links, kept up to date as flows come and go.
//
// A link's *level* is the rate per unit of weight that it leaves to the flows that it limits; a
// link that limits none has an infinite one. A flow's rate is its weight times the lowest level on
// its route, and that link is its bottleneck. The levels are right when every link with a finite
// one is full: then each flow has a full link on which nobody has more per weight, which is what
// max-min fairness means (Bertsekas & Gallager, Data Networks, 2nd edition, section 6.5.2).
//
// A change is followed from link to link in ascending order of level, because a link's level
// depends only on lower ones: what lies below the change, or apart from it, is never looked at.
// Most links are calm: they could not be full at any level near, and hear of no change beside them.
// A fatpipe gives every flow that it limits the level at which the heaviest of them has the
// bandwidth; SimGrid's does the same.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "network/link.h"

namespace outpace::network {

class FairShare {
 public:
  using Flow = std::uint32_t;  // The caller's numbers: small, and free again after remove().

  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  static constexpr LinkId kNoLink{UINT32_MAX};

  // A flow on a link, and what it takes there of each unit of level: its weight, times how often
  // the link stands on its route (once is often enough for a fatpipe).
  struct Share {
    double weight;
    double elsewhere;  // The lowest level on the flow's other links. Not kept up on a calm link.
    Flow flow;
    std::uint32_t hop;  // In the flow's route.
  };
  // What settle() changed. Both lists are in an order that depends on nothing but the calls so far.
  struct Changes {
    struct OfLink {
      LinkId link;
      double level_before;
    };
    struct OfFlow {
      Flow flow;
      LinkId bottleneck_before;  // kNoLink if it is new.
    };
    std::vector<OfLink> links;  // Another level, or other flows on it. Each once.
    std::vector<OfFlow> flows;  // Another bottleneck. Each once.
  };

  explicit FairShare(std::span<const Link> links);

  // REQUIRES: the flow is not there; weight > 0; the route is not empty.
  void add(Flow flow, double weight, std::span<const LinkId> route);
  // REQUIRES: the flow is there.
  void remove(Flow flow);
  // Makes the levels right again after any number of the above.
  void settle(Changes& out);

  // As of the last settle():
  [[nodiscard]] double level(LinkId link) const { return levels_[network::index(link)]; }
  [[nodiscard]] LinkId bottleneck(Flow flow) const { return bottlenecks_[flow]; }
  [[nodiscard]] double rate(Flow flow) const {
    return flows_[flow].weight * level(bottlenecks_[flow]);
  }
  [[nodiscard]] std::span<const Share> on(LinkId link) const {
    return links_[network::index(link)].shares;
  }

 private:
  struct LinkState {
    double bandwidth = 0.0;
    Sharing sharing = Sharing::kShared;
    bool touched = false;       // In touched_.
    bool changed = false;       // In Changes::links.
    bool looked_at = false;     // By set_level(): its flows may have another bottleneck.
    double due = 0.0;           // The level that the link should have; meant if it is queued.
    double key = kUnlimited;    // Its place in the queue; infinite if it is not there.
    double quiet = kUnlimited;  // Up to this level at least, all other links of its flows are calm.
    std::vector<Share> shares;
  };
  struct Hop {
    std::uint32_t link;
    std::uint32_t place;  // In the link's shares.
  };
  struct FlowState {
    double weight = 0.0;
    std::vector<Hop> hops;
  };
  using Queued = std::pair<double, std::uint32_t>;  // Key, link.

  void touch(std::uint32_t link);
  void check_touched();
  void set_level(std::uint32_t link);
  void note(std::uint32_t link, Changes& out);
  void find_bottlenecks(Changes& out);
  void set_calm(std::uint32_t link, double calm);
  // The least of the values of the flow's other links.
  [[nodiscard]] double least_beside(std::span<const double> values,
                                    Flow flow,
                                    std::uint32_t link) const;
  [[nodiscard]] double level_of(std::uint32_t link);
  [[nodiscard]] LinkId lowest(Flow flow, LinkId before) const;

  std::vector<LinkState> links_;
  std::vector<double> levels_;  // Of the links; apart from them because they are read the most.
  // Of the links: while no flow on it has a higher level than this, a link is calm. It limits
  // nobody, and need not hear of changes beside it. 0 of a link that is not calm.
  std::vector<double> calm_;
  std::vector<FlowState> flows_;
  std::vector<LinkId> bottlenecks_;     // Of the flows.
  std::vector<Flow> added_;             // Since the last settle(); some may be removed again.
  std::vector<std::uint32_t> touched_;  // Links whose level may be wrong.
  std::vector<Queued> queue_;           // A heap, lowest key first, of links whose level is wrong.
};

}  // namespace outpace::network
