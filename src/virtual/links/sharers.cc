#include "links/sharers.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace outpace::links {

Sharers::Sharers(std::span<const Link> links) : links_(links.size()) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    links_[i].sharing = links[i].sharing;
  }
}

void Sharers::add(Flow flow, double weight, std::span<const LinkId> route) {
  CHECK(!route.empty());
  if (flow >= flows_.size()) {
    flows_.resize(flow + 1);
  }
  FlowState& state = flows_[flow];
  CHECK(state.hops.empty());
  state.weight = weight;
  state.live = 0;
  for (const LinkId id : route) {
    const auto link = static_cast<std::uint32_t>(id);
    std::vector<Share>& shares = links_.at(link).shares;
    const auto known = std::find_if(
        state.hops.begin(), state.hops.end(), [&](const Hop& hop) { return hop.link == link; });
    if (known == state.hops.end()) {
      const auto last = static_cast<std::uint32_t>(state.hops.size());
      state.hops.push_back({link, static_cast<std::uint32_t>(shares.size())});
      shares.push_back({weight, 0.0, flow, last, {kNoLink, 0}});
      if (links_[link].live) {
        swap_hops(flow, last, state.live++);
      }
    } else if (links_[link].sharing == Sharing::kShared) {
      shares[known->place].weight += weight;
    }
  }
  if (state.live == 2) {
    tell_others(flow);
  }
}

void Sharers::remove(Flow flow) {
  CHECK(contains(flow));
  if (std::exchange(flows_[flow].live, 0) == 2) {
    tell_others(flow);  // First, because afterwards places may belong to others.
  }
  for (const Hop hop : flows_[flow].hops) {
    std::vector<Share>& shares = links_[hop.link].shares;
    const Share moved = shares[hop.place] = shares.back();
    flows_[moved.flow].hops[moved.hop].place = hop.place;
    if (moved.other.link != kNoLink) {
      links_[moved.other.link].shares[moved.other.place].other.place = hop.place;
    }
    shares.pop_back();
  }
  flows_[flow].hops.clear();
}

void Sharers::set_live(std::uint32_t link, bool live) {
  if (std::exchange(links_[link].live, live) == live) {
    return;
  }
  for (const Share& share : links_[link].shares) {
    std::uint32_t& count = flows_[share.flow].live;
    swap_hops(share.flow, share.hop, live ? count++ : --count);
    if (count == 2 || count == (live ? 3 : 1)) {
      tell_others(share.flow);
    }
  }
}

// Tells the flow's first two hops, which are the live ones if two are live, about each other.
void Sharers::tell_others(Flow flow) {
  const FlowState& state = flows_[flow];
  for (std::uint32_t i = 0; i < std::min<std::size_t>(state.hops.size(), 2); ++i) {
    links_[state.hops[i].link].shares[state.hops[i].place].other =
        state.live == 2 ? state.hops[1 - i] : Hop{kNoLink, 0};
  }
}

void Sharers::swap_hops(Flow flow, std::uint32_t a, std::uint32_t b) {
  std::vector<Hop>& hops = flows_[flow].hops;
  std::swap(hops[a], hops[b]);
  links_[hops[a].link].shares[hops[a].place].hop = a;
  links_[hops[b].link].shares[hops[b].place].hop = b;
}

}  // namespace outpace::links
