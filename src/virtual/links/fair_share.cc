#include "links/fair_share.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::links {
namespace {

// Avoids std::pair's own order, which checks for NaN each time.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.first > b.first || (!(a.first < b.first) && a.second > b.second);
};

}  // namespace

FairShare::FairShare(std::span<const Link> links)
    : sharers_(links),
      states_(links.size()),
      levels_(links.size(), kUnlimited),
      calm_(links.size(), kUnlimited) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    CHECK(links[i].bandwidth > 0 && std::isfinite(links[i].bandwidth));
    states_[i].capacity = {links[i].bandwidth, links[i].sharing};
  }
}

void FairShare::add(Flow flow, double weight, std::span<const LinkId> route) {
  CHECK(weight > 0 && std::isfinite(weight));
  sharers_.add(flow, weight, route);
  if (flow >= bottlenecks_.size()) {
    bottlenecks_.resize(flow + 1);
  }
  bottlenecks_[flow] = kNoLink;
  added_.push_back(flow);
  for (const Sharers::Hop hop : sharers_.hops(flow)) {
    sharers_.on(hop.link)[hop.place].elsewhere = lowest_beside(flow, hop.link, hop.link);
    tell_beside(hop.link, flow);
    states_[hop.link].unclear = true;
    touch(hop.link);
  }
}

void FairShare::remove(Flow flow) {
  for (const Sharers::Hop hop : sharers_.hops(flow)) {
    states_[hop.link].unclear = true;
    touch(hop.link);
  }
  sharers_.remove(flow);
}

void FairShare::settle(Changes& out) {
  out.links.clear();
  out.flows.clear();
  for (const std::uint32_t link : touched_) {
    note(link, out);
  }
  check_touched();
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), kLater);
    const Queued turn = queue_.back();
    queue_.pop_back();
    // Otherwise it was queued again with another key.
    if (states_[turn.second].key == turn.first) {
      take_turn(turn, out);
    }
  }
  find_bottlenecks(out);
}

void FairShare::touch(std::uint32_t link) {
  if (!states_[link].touched) {
    states_[link].touched = true;
    touched_.push_back(link);
  }
}

void FairShare::note(std::uint32_t link, Changes& out) {
  if (!states_[link].changed) {
    states_[link].changed = true;
    out.links.push_back({LinkId{link}, levels_[link]});
  }
}

// Queues the touched links whose level is wrong, as far as this shows without visiting their flows.
void FairShare::check_touched() {
  for (const std::uint32_t link : touched_) {
    LinkState& state = states_[link];
    state.touched = false;
    if (state.unclear || calm_[link] > 0 || (state.due == kUnlimited && state.spare < 0)) {
      look_at(link);
    }
    enqueue(link, key_of(link));
  }
  touched_.clear();
}

// The key at which the link's turn comes, if its level is wrong. It assumes that the link gives its
// spare bandwidth to the flows that it limits. This is never too much, because those flows may be
// limited elsewhere before they take it.
double FairShare::key_of(std::uint32_t link) const {
  const LinkState& state = states_[link];
  const double level = levels_[link];
  const double due = state.due == kUnlimited ? state.due : state.due + state.spare / state.weight;
  if (same(due, level) && same(state.due, level)) {
    return kUnlimited;
  }
  return std::min(due, level);
}

void FairShare::enqueue(std::uint32_t link, double key) {
  if (key != states_[link].key && key != kUnlimited) {
    queue_.emplace_back(key, link);
    std::push_heap(queue_.begin(), queue_.end(), kLater);
  }
  states_[link].key = key;
}

// Gives the link the level it should have, unless that was an estimate and its turn is later.
void FairShare::take_turn(Queued turn, Changes& out) {
  const auto [key, link] = turn;
  LinkState& state = states_[link];
  state.key = kUnlimited;
  if (state.due != kUnlimited && state.spare != 0) {
    look_at(link);
    const double exact = key_of(link);
    if (exact > key && !same(exact, key)) {
      enqueue(link, exact);
      return;
    }
  }
  note(link, out);
  set_level(link);
  check_touched();
}

void FairShare::look_at(std::uint32_t link) {
  LinkState& state = states_[link];
  const double level = levels_[link];
  const bool calm = level == kUnlimited && find_calm(link);
  const Full full = calm ? Full{} : full_level(state.capacity, sharers_.on(link), level);
  state.due = full.level;
  state.weight = full.weight;
  state.spare = full.spare;
  state.unclear = false;
}

// The link's spare bandwidth changes if the flow is limited elsewhere below the level due, or was.
// A flow with the same level elsewhere may be the last that the link limited. The caller passes the
// level before, because the share is rarely in the processor's cache and is only written here.
inline void FairShare::set_elsewhere(Sharers::Hop hop, double before, double level) {
  LinkState& state = states_[hop.link];
  Sharers::Share& share = sharers_.on(hop.link)[hop.place];
  const double due = state.due;
  const double was = before < due ? before : due;
  const double is = level < due ? level : due;
  share.elsewhere = level;
  if (is != was) {
    state.spare -= share.weight * (is - was);
    state.unclear |= state.capacity.sharing == Sharing::kFatpipe;
    touch(hop.link);
  } else if (same(level, due)) {
    state.unclear = true;
    touch(hop.link);
  }
}

// Gives the link the level it should have, and tells its neighbours. While all of these are calm,
// the flows need not be visited. This is the case with a thousand workers whose gradients all meet
// at the server's link.
//
// Among 32 full links this runs 19 times per change, over 40 flows each time. Hence it avoids
// branches on what is as good as random, and searches where a flow has only two live links.
void FairShare::set_level(std::uint32_t link) {
  LinkState& state = states_[link];
  const double before = levels_[link];
  const double level = state.due;
  levels_[link] = level;
  if (level > state.quiet) {
    wake_beside(link);
  }
  if (!state.crowded) {
    return;
  }
  bool crowded = false;
  for (const Sharers::Share& share : sharers_.on(link)) {
    // Equal levels need care: a link whose level falls from equality may now be the bottleneck.
    if ((before < share.elsewhere) != (level < share.elsewhere) ||
        (before > share.elsewhere) != (level > share.elsewhere)) {
      moved_.push_back(share.flow);
    }
    if (share.other.link != Sharers::kNoLink) {
      crowded = true;
      set_elsewhere(share.other, before, level);
      continue;
    }
    const std::span<const Sharers::Hop> hops = sharers_.live_hops(share.flow);
    crowded |= hops.size() > 1;
    std::size_t at = share.hop;
    for (std::size_t left = hops.size() - 1; left > 0; --left) {
      at = (at + 1) * static_cast<std::size_t>(at + 1 < hops.size());
      const double others =
          hops.size() > 2 ? lowest_beside(share.flow, link, hops[at].link) : kUnlimited;
      const double was = sharers_.on(hops[at].link)[hops[at].place].elsewhere;
      set_elsewhere(hops[at], was, std::min(level, others));
    }
  }
  state.crowded = crowded;
}

// A link that is not full is calm if its bandwidth suffices at all its flows' levels. A link whose
// level is still to rise is not calm yet, because its neighbours' levels do not account for that.
bool FairShare::find_calm(std::uint32_t link) {
  if (sharers_.on(link).empty()) {
    return true;
  }
  const bool was_calm = calm_[link] > 0;
  const bool shared = states_[link].capacity.sharing == Sharing::kShared;
  double weight = 0.0;
  double highest = 0.0;
  for (Sharers::Share& share : sharers_.on(link)) {
    if (was_calm) {
      share.elsewhere = lowest_beside(share.flow, link, link);
    }
    weight = shared ? weight + share.weight : std::max(weight, share.weight);
    highest = std::max(highest, share.elsewhere);
  }
  const double calm = states_[link].capacity.bandwidth / weight * (1 - 2 * kSame);
  set_calm(link, highest <= calm ? calm : 0.0);
  return highest <= calm;
}

// A link that becomes less calm tells its neighbours.
void FairShare::set_calm(std::uint32_t link, double calm) {
  const double before = std::exchange(calm_[link], calm);
  sharers_.set_live(link, calm == 0);
  if (calm < before || before == 0) {
    for (const Sharers::Share& share : sharers_.on(link)) {
      tell_beside(link, share.flow);
    }
  }
}

void FairShare::tell_beside(std::uint32_t link, Flow flow) {
  const double calm = calm_[link];
  for (const Sharers::Hop hop : sharers_.hops(flow)) {
    LinkState& state = states_[hop.link];
    if (hop.link != link) {
      state.crowded |= calm == 0;
      state.quiet = calm == 0 ? state.quiet : std::min(state.quiet, calm);
    }
  }
}

// Touches the calm links for which the level of one of their flows has become too high.
void FairShare::wake_beside(std::uint32_t link) {
  double quiet = kUnlimited;
  for (const Sharers::Share& share : sharers_.on(link)) {
    const double level = std::min(levels_[link], share.elsewhere);
    for (const Sharers::Hop hop : sharers_.other_hops(share.flow)) {
      quiet = std::min(quiet, calm_[hop.link]);
      if (level > calm_[hop.link]) {
        touch(hop.link);
      }
    }
  }
  states_[link].quiet = quiet;
}

// The lowest level on the flow's links, except these two.
double FairShare::lowest_beside(Flow flow, std::uint32_t link, std::uint32_t other) const {
  double lowest = kUnlimited;
  for (const Sharers::Hop hop : sharers_.live_hops(flow)) {
    if (hop.link != link && hop.link != other) {
      lowest = std::min(lowest, levels_[hop.link]);
    }
  }
  return lowest;
}

void FairShare::find_bottlenecks(Changes& out) {
  for (const Flow flow : added_) {
    if (bottlenecks_[flow] == kNoLink && sharers_.contains(flow)) {
      bottlenecks_[flow] = lowest(flow, LinkId{sharers_.hops(flow).front().link});
      out.flows.push_back({flow, kNoLink});
    }
  }
  added_.clear();
  for (const Flow flow : moved_) {
    const LinkId before = bottlenecks_[flow];
    bottlenecks_[flow] = lowest(flow, before);
    if (bottlenecks_[flow] != before) {
      out.flows.push_back({flow, before});
    }
  }
  moved_.clear();
  for (const Changes::OfFlow& moved : out.flows) {
    if (moved.bottleneck_before != kNoLink) {
      note(static_cast<std::uint32_t>(moved.bottleneck_before), out);
    }
    note(static_cast<std::uint32_t>(bottlenecks_[moved.flow]), out);
  }
  for (const Changes::OfLink& link : out.links) {
    states_[links::index(link.link)].changed = false;
  }
}

LinkId FairShare::lowest(Flow flow, LinkId before) const {
  LinkId found = before;
  for (const Sharers::Hop hop : sharers_.live_hops(flow)) {
    if (levels_[hop.link] < level(found)) {
      found = LinkId{hop.link};
    }
  }
  return found;
}

}  // namespace outpace::links
