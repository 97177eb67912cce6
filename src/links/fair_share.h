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
// Where a link stands in that order is estimated from what the links beside it did so far; all its
// flows are looked at when its turn comes. Most links are calm: they could not be full at any level
// near, and hear of no change beside them.

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "links/full_level.h"
#include "links/link.h"
#include "links/sharers.h"

namespace outpace::links {

class FairShare {
 public:
  using Flow = Sharers::Flow;

  static constexpr LinkId kNoLink{UINT32_MAX};

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
  [[nodiscard]] double level(LinkId link) const { return levels_[links::index(link)]; }
  [[nodiscard]] LinkId bottleneck(Flow flow) const { return bottlenecks_[flow]; }
  [[nodiscard]] double rate(Flow flow) const {
    return sharers_.weight(flow) * level(bottlenecks_[flow]);
  }
  [[nodiscard]] std::span<const Sharers::Share> on(LinkId link) const {
    return sharers_.on(static_cast<std::uint32_t>(link));
  }

 private:
  struct LinkState {
    Capacity capacity{};        // Constant after construction.
    bool touched = false;       // In touched_.
    bool changed = false;       // In Changes::links.
    bool unclear = false;       // The following three say nothing: all its flows must be looked at.
    double due = kUnlimited;    // The level that the link should have, when they were last.
    double weight = 0.0;        // Of the flows that it would limit then.
    double spare = 0.0;         // What it would have to spare by now if it had that level.
    double key = kUnlimited;    // Its place in the queue; infinite if it is not there.
    bool crowded = false;       // Some of its flows may have other live links.
    double quiet = kUnlimited;  // Up to this level at least, all calm links of its flows stay so.
  };
  using Queued = std::pair<double, std::uint32_t>;  // Key, link.

  void touch(std::uint32_t link);
  void check_touched();
  void look_at(std::uint32_t link);
  [[nodiscard]] bool find_calm(std::uint32_t link);
  [[nodiscard]] double key_of(std::uint32_t link) const;
  void enqueue(std::uint32_t link, double key);
  void take_turn(Queued turn, Changes& out);
  void set_level(std::uint32_t link);
  void set_elsewhere(Sharers::Hop hop, double before, double level);
  void note(std::uint32_t link, Changes& out);
  void find_bottlenecks(Changes& out);
  void wake_beside(std::uint32_t link);
  void set_calm(std::uint32_t link, double calm);
  void tell_beside(std::uint32_t link, Flow flow);
  [[nodiscard]] double lowest_beside(Flow flow, std::uint32_t link, std::uint32_t other) const;
  [[nodiscard]] LinkId lowest(Flow flow, LinkId before) const;

  Sharers sharers_;  // A link is live if it is not calm; `elsewhere` is not kept up on a calm one.
  std::vector<LinkState> states_;  // Of the links; so are the next two.
  std::vector<double> levels_;
  // While no flow on it has a higher level than this, a link is calm. It limits nobody, and need
  // not hear of changes beside it. 0 of a link that is not calm.
  std::vector<double> calm_;
  std::vector<LinkId> bottlenecks_;     // Of the flows.
  std::vector<Flow> added_;             // Since the last settle(); some may be removed again.
  std::vector<Flow> moved_;             // Those that may have another bottleneck.
  std::vector<std::uint32_t> touched_;  // Links whose level may be wrong.
  std::vector<Queued> queue_;           // A heap, lowest key first, of links whose level is wrong.
};

}  // namespace outpace::links
