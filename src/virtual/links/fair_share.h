// Weighted max-min fair shares of links, updated as flows come and go.
//
// A link's *level* is the rate per unit of weight that it leaves to the flows it limits; it is
// infinite for a link that limits none. A flow's rate is its weight times the lowest level on its
// route, and that link is its bottleneck. The levels are right when every link with a finite level
// is full: then each flow has a full link on which no flow has a higher rate per weight. This is
// the definition of max-min fairness (Bertsekas & Gallager, Data Networks, 2nd edition, section
// 6.5.2).
//
// A change spreads from link to link in ascending order of level, because a link's level depends
// only on lower ones. Links below the change, or unconnected to it, are never visited. A link's
// position in that order is estimated from what its neighbours have done so far; when its turn
// comes, all its flows are visited. Most links are calm: they could not be full at any level
// nearby, and are not told about changes of their neighbours.

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

  // The changes made by settle(). The order of both lists depends on nothing but the calls so far.
  struct Changes {
    struct OfLink {
      LinkId link;
      double level_before;
    };
    struct OfFlow {
      Flow flow;
      LinkId bottleneck_before;  // kNoLink if the flow is new.
    };
    std::vector<OfLink> links;  // Links with another level or with other flows. Each once.
    std::vector<OfFlow> flows;  // Flows with another bottleneck. Each once.
  };

  explicit FairShare(std::span<const Link> links);

  // REQUIRES: the flow does not exist; weight > 0; the route is not empty.
  void add(Flow flow, double weight, std::span<const LinkId> route);
  // REQUIRES: the flow exists.
  void remove(Flow flow);
  // Makes the levels right again after any number of calls of the above.
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
    Capacity capacity{};   // Constant after construction.
    bool touched = false;  // It is in touched_.
    bool changed = false;  // It is in Changes::links.
    bool unclear = false;  // The next three fields are invalid, so all its flows must be visited.
    double due = kUnlimited;    // The level that the link should have, as of its last visit.
    double weight = 0.0;        // Weight of the flows that it would limit at that level.
    double spare = 0.0;         // The spare bandwidth that it would have by now at that level.
    double key = kUnlimited;    // Its place in the queue; infinite if it is not queued.
    bool crowded = false;       // Some of its flows may have other live links.
    double quiet = kUnlimited;  // At least up to this level, all calm links of its flows stay calm.
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

  Sharers sharers_;  // A link is live if it is not calm; `elsewhere` is not updated on calm links.
  std::vector<LinkState> states_;  // By link, as are the next two.
  std::vector<double> levels_;
  // A link is calm as long as no flow on it has a level above this. It limits no flow, and need not
  // be told about changes of its neighbours. 0 for a link that is not calm.
  std::vector<double> calm_;
  std::vector<LinkId> bottlenecks_;  // By flow.
  std::vector<Flow> added_;          // Since the last settle(); some may have been removed again.
  std::vector<Flow> moved_;          // Flows that may have another bottleneck.
  std::vector<std::uint32_t> touched_;  // Links whose level may be wrong.
  std::vector<Queued> queue_;           // A heap, lowest key first, of links whose level is wrong.
};

}  // namespace outpace::links
