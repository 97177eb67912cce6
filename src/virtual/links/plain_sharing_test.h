// The dumb twin of FairShare and Flows: fills all links anew at every event. And random cases to
// compare the two on.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "links/link.h"

namespace outpace::links {

inline constexpr LinkId kFirst{0};
inline constexpr LinkId kSecond{1};

struct PlainFlow {
  std::vector<LinkId> route;
  double weight;
};

// Progressive filling: all rates grow in proportion to their weights until a link is full, or some
// are; their flows stay as they are, and the others grow on.
inline std::vector<double> plain_rates(const std::vector<Link>& links,
                                       const std::vector<PlainFlow>& flows) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> rates(flows.size(), kInfinity);  // Infinite: still growing.
  const auto times_on = [&](std::size_t flow, std::size_t link) {
    const auto& route = flows[flow].route;
    const auto times = std::count(route.begin(), route.end(), LinkId(link));
    return static_cast<double>(
        links[link].sharing == Sharing::kFatpipe ? std::min<std::ptrdiff_t>(times, 1) : times);
  };
  while (true) {
    std::vector<double> levels(links.size(), kInfinity);
    for (std::size_t link = 0; link < links.size(); ++link) {
      double left = links[link].bandwidth;
      double sum = 0.0;
      double heaviest = 0.0;
      for (std::size_t flow = 0; flow < flows.size(); ++flow) {
        const double times = times_on(flow, link);
        if (times > 0 && std::isfinite(rates[flow])) {
          left -= times * rates[flow];
        } else if (times > 0) {
          sum += times * flows[flow].weight;
          heaviest = std::max(heaviest, flows[flow].weight);
        }
      }
      if (sum > 0) {
        const bool shared = links[link].sharing == Sharing::kShared;
        levels[link] = shared ? std::max(left, 0.0) / sum : links[link].bandwidth / heaviest;
      }
    }
    const double lowest = *std::min_element(levels.begin(), levels.end());
    if (lowest == kInfinity) {
      return rates;
    }
    for (std::size_t link = 0; link < links.size(); ++link) {
      for (std::size_t flow = 0; flow < flows.size(); ++flow) {
        const bool full = levels[link] <= lowest * (1 + 1e-12);
        if (full && times_on(flow, link) > 0 && !std::isfinite(rates[flow])) {
          rates[flow] = flows[flow].weight * lowest;
        }
      }
    }
  }
}

struct Transfer {
  std::vector<LinkId> route;
  double bytes;
  Time start;
  Time cancelled = Time::max();  // If it is not complete by then.
};

// When each of the transfers is complete, in seconds; infinite if it was cancelled before.
inline std::vector<double> plain_completions(const std::vector<Link>& links,
                                             const std::vector<Transfer>& transfers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct State {
    double ready;  // The latency is over.
    double weight;
    double left;
    double done = kInfinity;
  };
  std::vector<State> states;
  for (const Transfer& transfer : transfers) {
    double latency = 0.0;
    for (const LinkId link : transfer.route) {
      latency += links[index(link)].latency;
    }
    states.push_back(
        {to_seconds(transfer.start) + latency, latency > 0 ? 1 / latency : 1.0, transfer.bytes});
  }
  double now = 0.0;
  while (true) {
    std::vector<PlainFlow> flows;
    std::vector<std::size_t> places;
    double next = kInfinity;
    for (std::size_t i = 0; i < states.size(); ++i) {
      State& state = states[i];
      const double cancelled =
          transfers[i].cancelled == Time::max() ? kInfinity : to_seconds(transfers[i].cancelled);
      if (cancelled <= now) {
        continue;
      }
      if (state.done == kInfinity) {
        next = std::min(next, cancelled);
      }
      if (state.ready > now) {
        next = std::min(next, state.ready);
      } else if (state.done == kInfinity && (state.left <= 0 || transfers[i].route.empty())) {
        state.done = now;
      } else if (state.done == kInfinity) {
        flows.push_back({transfers[i].route, state.weight});
        places.push_back(i);
      }
    }
    const std::vector<double> rates = plain_rates(links, flows);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      next = std::min(next, now + states[places[i]].left / rates[i]);
    }
    if (next == kInfinity) {
      break;
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      State& state = states[places[i]];
      // The last bit of a byte: what rounding leaves of a transfer that is through.
      const double left = state.left - rates[i] * (next - now);
      state.left = left <= 1e-12 * transfers[places[i]].bytes ? 0.0 : left;
    }
    now = next;
  }
  std::vector<double> done;
  for (const State& state : states) {
    done.push_back(state.done);
  }
  return done;
}

struct RandomCase {
  std::vector<Link> links;
  std::vector<Transfer> transfers;
};

// Up to a dozen links and 24 transfers. Half of the cases are all of a kind, so that much happens
// at the same level and at the same time; in others rates and latencies span three decades.
inline RandomCase random_case(std::uint64_t seed, bool fatpipes) {
  Rng rng(seed, 0);
  const bool alike = rng.below(2) == 0;
  const auto between = [&](double low, double high) {
    return alike ? low * static_cast<double>(1 + rng.below(2))
                 : low * std::pow(high / low, rng.uniform());
  };
  RandomCase result;
  const std::uint64_t links = 1 + rng.below(12);
  const bool no_latency = rng.below(8) == 0;
  for (std::uint64_t i = 0; i < links; ++i) {
    const bool fatpipe = fatpipes && rng.below(5) == 0;
    const bool at_once = no_latency || rng.below(5) == 0;
    result.links.push_back({.name = "link" + std::to_string(i),
                            .bandwidth = between(1e6, 1e9),
                            .latency = at_once ? 0.0 : between(1e-5, 1e-2),
                            .sharing = fatpipe ? Sharing::kFatpipe : Sharing::kShared});
  }
  const std::uint64_t transfers = 1 + rng.below(24);
  for (std::uint64_t i = 0; i < transfers; ++i) {
    Transfer transfer;
    const std::uint64_t hops = 1 + rng.below(5);
    for (std::uint64_t hop = 0; hop < hops; ++hop) {  // One may come twice.
      transfer.route.push_back(LinkId{static_cast<std::uint32_t>(rng.below(links))});
    }
    transfer.bytes = rng.below(20) == 0 ? 0.0 : std::floor(between(1e5, 1e8));
    const double start = rng.below(2) == 0 ? 0.0 : rng.uniform();
    transfer.start = Time{from_seconds(start)};
    result.transfers.push_back(transfer);
  }
  std::stable_sort(result.transfers.begin(),
                   result.transfers.end(),
                   [](const Transfer& a, const Transfer& b) { return a.start < b.start; });
  return result;
}

}  // namespace outpace::links
