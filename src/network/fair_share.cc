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
    : links_(links.size()), levels_(links.size(), kUnlimited) {
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
  }
  FlowState& state = flows_[flow];
  CHECK(state.hops.empty());
  state.weight = weight;
  state.bottleneck = kNoLink;
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
    shares.push_back({weight, flow, static_cast<std::uint32_t>(state.hops.size() - 1)});
    touch(link);
  }
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
    const double key =
        same(state.due, levels_[link]) ? kUnlimited : std::min(state.due, levels_[link]);
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
// wait in the queue to rise, because how far they will depends on levels above their own.
void FairShare::set_level(std::uint32_t link) {
  const double before = levels_[link];
  levels_[link] = links_[link].due;
  for (const Share& share : links_[link].shares) {
    const double elsewhere = lowest_beside(share, link);
    const bool same_rate = same(std::min(before, elsewhere), std::min(levels_[link], elsewhere));
    for (const Hop hop : flows_[share.flow].hops) {
      if (hop.link != link && (!same_rate || links_[hop.link].key != kUnlimited)) {
        touch(hop.link);
      }
    }
  }
}

double FairShare::lowest_beside(const Share& share, std::uint32_t link) const {
  double lowest = kUnlimited;
  for (const Hop hop : flows_[share.flow].hops) {
    if (hop.link != link) {
      lowest = std::min(lowest, levels_[hop.link]);
    }
  }
  return lowest;
}

// The lowest level x at which the link is full when each flow on it has min(x, its level elsewhere)
// per weight; infinite if it is never full. Climbs to it from below: at each step the flows that
// are limited elsewhere below x keep what they have, and the others share the rest. Those that are
// limited elsewhere at the same level count as free, else a fatpipe would hang on the last bit.
double FairShare::level_of(std::uint32_t link) {
  const LinkState& state = links_[link];
  const bool shared = state.sharing == Sharing::kShared;
  shares_.clear();
  double demand = 0.0;
  for (const Share& share : state.shares) {
    shares_.emplace_back(share.weight, lowest_beside(share, link));
    demand += share.weight * shares_.back().second;
  }
  if (shares_.empty() || (shared && demand <= state.bandwidth)) {
    return kUnlimited;
  }
  double x = 0.0;
  for (std::size_t limited_before = SIZE_MAX;;) {
    double taken = 0.0;
    double weight = 0.0;
    std::size_t limited = 0;
    const double below = x - x * kSame;
    for (const auto& [own, elsewhere] : shares_) {
      if (elsewhere < below) {
        taken += own * elsewhere;
        ++limited;
      } else {
        weight = shared ? weight + own : std::max(weight, own);
      }
    }
    if (limited == limited_before) {
      return x;
    }
    if (limited == shares_.size()) {
      return kUnlimited;
    }
    limited_before = limited;
    x = std::max(x, (shared ? state.bandwidth - taken : state.bandwidth) / weight);
  }
}

void FairShare::find_bottlenecks(Changes& out) {
  const std::size_t changed = out.links.size();
  for (std::size_t i = 0; i < changed; ++i) {
    for (const Share& share : links_[network::index(out.links[i].link)].shares) {
      FlowState& flow = flows_[share.flow];
      const LinkId before = flow.bottleneck;
      LinkId lowest = before == kNoLink ? LinkId{flow.hops.front().link} : before;
      for (const Hop hop : flow.hops) {
        if (levels_[hop.link] < level(lowest)) {
          lowest = LinkId{hop.link};
        }
      }
      if (lowest != before) {
        flow.bottleneck = lowest;
        out.flows.push_back({share.flow, before});
      }
    }
  }
  for (const Changes::OfFlow& moved : out.flows) {
    if (moved.bottleneck_before != kNoLink) {
      note(static_cast<std::uint32_t>(moved.bottleneck_before), out);
    }
    note(static_cast<std::uint32_t>(flows_[moved.flow].bottleneck), out);
  }
  for (const Changes::OfLink& link : out.links) {
    links_[network::index(link.link)].changed = false;
  }
}

}  // namespace outpace::network
