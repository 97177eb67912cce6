#include "network/fair_share.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"

namespace outpace::network {
namespace {

// Levels this near, relatively, are the same. Well above what the rounding of sums over thousands
// of flows brings in, so that links with equal levels do not push each other back and forth.
constexpr double kSame = 1e-12;

bool same(double a, double b) {
  return a == b || std::abs(a - b) <= kSame * std::min(a, b);
}

}  // namespace

FairShare::FairShare(std::span<const Link> links)
    : links_(links.size()), levels_(links.size(), kUnlimited), calm_(links.size(), kUnlimited) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    CHECK(links[i].bandwidth > 0 && std::isfinite(links[i].bandwidth));
    links_[i].bandwidth = links[i].bandwidth;
    links_[i].sharing = links[i].sharing;
  }
}

void FairShare::add(Flow flow, double weight, std::span<const LinkId> route) {
  CHECK(weight > 0 && std::isfinite(weight) && !route.empty());
  if (flow >= flows_.size()) {
    flows_.resize(flow + 1);
    bottlenecks_.resize(flow + 1);
  }
  FlowState& state = flows_[flow];
  CHECK(state.hops.empty());
  state.weight = weight;
  bottlenecks_[flow] = kNoLink;
  for (const LinkId id : route) {
    const auto link = static_cast<std::uint32_t>(id);
    std::vector<Share>& shares = links_.at(link).shares;
    const auto hop = std::find_if(
        state.hops.begin(), state.hops.end(), [&](const Hop& other) { return other.link == link; });
    if (hop != state.hops.end()) {
      if (links_[link].sharing == Sharing::kShared) {
        shares[hop->place].weight += weight;
      }
      continue;
    }
    state.hops.push_back({link, static_cast<std::uint32_t>(shares.size())});
    shares.push_back({weight, 0.0, flow, static_cast<std::uint32_t>(state.hops.size() - 1)});
    touch(link);
  }
  for (const Hop hop : state.hops) {
    links_[hop.link].shares[hop.place].elsewhere = least_beside(levels_, flow, hop.link);
  }
  added_.push_back(flow);
}

void FairShare::remove(Flow flow) {
  FlowState& state = flows_.at(flow);
  CHECK(!state.hops.empty());
  for (const Hop hop : state.hops) {
    std::vector<Share>& shares = links_[hop.link].shares;
    shares[hop.place] = shares.back();
    flows_[shares[hop.place].flow].hops[shares[hop.place].hop].place = hop.place;
    shares.pop_back();
    touch(hop.link);
  }
  state.hops.clear();
}

void FairShare::settle(Changes& out) {
  out.links.clear();
  out.flows.clear();
  for (const std::uint32_t link : touched_) {
    note(link, out);
  }
  check_touched();
  for (const Flow flow : added_) {
    for (const Hop hop : flows_[flow].hops) {
      double& quiet = links_[hop.link].quiet;
      quiet = std::min(quiet, least_beside(calm_, flow, hop.link));
    }
  }
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const auto [key, link] = queue_.back();
    queue_.pop_back();
    if (links_[link].key == key) {  // Else it was queued again with another key.
      links_[link].key = kUnlimited;
      note(link, out);
      set_level(link);
      check_touched();
    }
  }
  find_bottlenecks(out);
}

void FairShare::touch(std::uint32_t link) {
  if (!links_[link].touched) {
    links_[link].touched = true;
    touched_.push_back(link);
  }
}

void FairShare::note(std::uint32_t link, Changes& out) {
  if (!links_[link].changed) {
    links_[link].changed = true;
    out.links.push_back({LinkId{link}, levels_[link]});
  }
}

// Queues the touched links whose level is wrong.
void FairShare::check_touched() {
  for (const std::uint32_t link : touched_) {
    LinkState& state = links_[link];
    state.touched = false;
    state.due = level_of(link);
    const double level = levels_[link];
    const double lower = std::min(state.due, level);
    const double key = same(state.due, level) ? double{kUnlimited} : lower;
    if (key != state.key && key != kUnlimited) {
      queue_.emplace_back(key, link);
      std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
    }
    state.key = key;
  }
  touched_.clear();
}

// Gives the link the level that it should have, and touches the links beside it that this may
// concern: those of a flow whose own level, the lowest on its route, is another now; and those that
// wait in the queue to rise, because how far they will depends on levels above their own. While all
// links beside it are calm there are none, and the flows need not be looked at: so it is with a
// thousand workers whose gradients all meet at the server's link.
void FairShare::set_level(std::uint32_t link) {
  const double before = levels_[link];
  const double level = links_[link].due;
  levels_[link] = level;
  if (std::max(before, level) <= links_[link].quiet) {
    return;
  }
  links_[link].looked_at = true;
  double quiet = kUnlimited;
  for (const Share& share : links_[link].shares) {
    const std::vector<Hop>& hops = flows_[share.flow].hops;
    double lowest = kUnlimited;  // Of the others.
    double second = kUnlimited;
    for (const Hop hop : hops) {
      if (hop.link != link) {
        second = std::min(second, std::max(lowest, levels_[hop.link]));
        lowest = std::min(lowest, levels_[hop.link]);
        quiet = std::min(quiet, calm_[hop.link]);
      }
    }
    const double now = std::min(level, lowest);
    const bool moved = !same(std::min(before, lowest), now);
    for (const Hop hop : hops) {
      if (hop.link != link && now > calm_[hop.link]) {
        LinkState& other = links_[hop.link];
        other.shares[hop.place].elsewhere =
            std::min(level, levels_[hop.link] == lowest ? second : lowest);
        if (moved || other.key != kUnlimited) {
          touch(hop.link);
        }
      }
    }
  }
  links_[link].quiet = quiet;
}

// A link that becomes less calm tells those beside it.
void FairShare::set_calm(std::uint32_t link, double calm) {
  if (calm < calm_[link]) {
    for (const Share& share : links_[link].shares) {
      for (const Hop hop : flows_[share.flow].hops) {
        if (hop.link != link) {
          links_[hop.link].quiet = std::min(links_[hop.link].quiet, calm);
        }
      }
    }
  }
  calm_[link] = calm;
}

double FairShare::least_beside(std::span<const double> values,
                               Flow flow,
                               std::uint32_t link) const {
  double least = kUnlimited;
  for (const Hop hop : flows_[flow].hops) {
    if (hop.link != link) {
      least = std::min(least, values[hop.link]);
    }
  }
  return least;
}

// The lowest level x at which the link is full when each flow on it has min(x, its level elsewhere)
// per weight; infinite if it is never full. Climbs to it from below: at each step the flows that
// are limited elsewhere below x keep what they have, and the others share the rest. Those that are
// limited elsewhere at the same level count as free, else a fatpipe would hang on the last bit.
double FairShare::level_of(std::uint32_t link) {
  LinkState& state = links_[link];
  const bool shared = state.sharing == Sharing::kShared;
  const bool was_calm = calm_[link] > 0;
  double demand = 0.0;
  double weights = 0.0;
  double highest = 0.0;
  for (Share& share : state.shares) {
    if (was_calm) {
      share.elsewhere = least_beside(levels_, share.flow, link);
    }
    demand += share.weight * share.elsewhere;
    weights = shared ? weights + share.weight : std::max(weights, share.weight);
    highest = std::max(highest, share.elsewhere);
  }
  double x = state.bandwidth / weights;
  const double calm = x * (1 - 2 * kSame);
  // Not yet if it is still to rise: the levels beside it do not count on that.
  set_calm(link, highest <= calm && levels_[link] == kUnlimited ? calm : 0.0);
  if (highest <= calm || (shared && demand <= state.bandwidth)) {
    return kUnlimited;
  }
  for (std::size_t limited_before = 0;;) {
    double taken = 0.0;
    double weight = 0.0;
    std::size_t limited = 0;
    const double below = x - x * kSame;
    for (const Share& share : state.shares) {
      if (share.elsewhere < below) {
        taken += share.weight * share.elsewhere;
        ++limited;
      } else {
        weight = shared ? weight + share.weight : std::max(weight, share.weight);
      }
    }
    if (limited == limited_before) {
      return x;
    }
    if (limited == state.shares.size()) {
      return kUnlimited;
    }
    limited_before = limited;
    x = std::max(x, (shared ? state.bandwidth - taken : state.bandwidth) / weight);
  }
}

// A flow's bottleneck is another one now if a link that changed is lower than it, or is the one and
// rose above another.
void FairShare::find_bottlenecks(Changes& out) {
  for (const Flow flow : added_) {
    if (bottlenecks_[flow] == kNoLink && !flows_[flow].hops.empty()) {
      bottlenecks_[flow] = lowest(flow, LinkId{flows_[flow].hops.front().link});
      out.flows.push_back({flow, kNoLink});
    }
  }
  added_.clear();
  const std::size_t changed = out.links.size();
  for (std::size_t i = 0; i < changed; ++i) {
    const LinkId link = out.links[i].link;
    if (!std::exchange(links_[network::index(link)].looked_at, false)) {
      continue;
    }
    const double own = level(link);
    for (const Share& share : links_[network::index(link)].shares) {
      LinkId& bottleneck = bottlenecks_[share.flow];
      const LinkId before = bottleneck;
      if (before == link || own < level(before)) {
        bottleneck = lowest(share.flow, link);
        if (bottleneck != before) {
          out.flows.push_back({share.flow, before});
        }
      }
    }
  }
  for (const Changes::OfFlow& moved : out.flows) {
    if (moved.bottleneck_before != kNoLink) {
      note(static_cast<std::uint32_t>(moved.bottleneck_before), out);
    }
    note(static_cast<std::uint32_t>(bottlenecks_[moved.flow]), out);
  }
  for (const Changes::OfLink& link : out.links) {
    links_[network::index(link.link)].changed = false;
  }
}

LinkId FairShare::lowest(Flow flow, LinkId before) const {
  LinkId found = before;
  for (const Hop hop : flows_[flow].hops) {
    if (levels_[hop.link] < level(found)) {
      found = LinkId{hop.link};
    }
  }
  return found;
}

}  // namespace outpace::network
