#include "network/sharers.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace outpace::network {

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
      shares.push_back({weight, 0.0, flow, last});
      if (links_[link].live) {
        swap_hops(flow, last, state.live++);
      }
    } else if (links_[link].sharing == Sharing::kShared) {
      shares[known->place].weight += weight;
    }
  }
}

void Sharers::remove(Flow flow) {
  CHECK(contains(flow));
  for (const Hop hop : flows_[flow].hops) {
    std::vector<Share>& shares = links_[hop.link].shares;
    shares[hop.place] = shares.back();
    flows_[shares[hop.place].flow].hops[shares[hop.place].hop].place = hop.place;
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
  }
}

void Sharers::swap_hops(Flow flow, std::uint32_t a, std::uint32_t b) {
  std::vector<Hop>& hops = flows_[flow].hops;
  std::swap(hops[a], hops[b]);
  links_[hops[a].link].shares[hops[a].place].hop = a;
  links_[hops[b].link].shares[hops[b].place].hop = b;
}

}  // namespace outpace::network
