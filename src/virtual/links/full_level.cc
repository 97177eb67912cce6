#include "links/full_level.h"

namespace outpace::links {
namespace {

// Partitions the flows on a link by whether they are limited elsewhere below a level. Flows limited
// elsewhere at the same level count as free; otherwise a fatpipe's result would depend on the last
// bit.
struct Parted {
  double demand = 0.0;             // All flows'.
  double taken = 0.0;              // By flows that are limited below.
  double weight = 0.0;             // The other flows'; on a fatpipe, the heaviest one's.
  double last_below = 0.0;         // The highest level elsewhere of the first,
  double first_free = kUnlimited;  // and the lowest of the others.
};

Parted part(Sharing sharing, std::span<const Sharers::Share> shares, double level) {
  const double least = level - level * kSame;
  Parted result;
  for (const Sharers::Share& share : shares) {
    const double most = share.weight * share.elsewhere;
    const bool below = share.elsewhere < least;
    const double weight = below ? 0.0 : share.weight;
    const double low = below ? share.elsewhere : 0.0;
    result.demand += most;
    result.taken += below ? most : 0.0;
    result.weight =
        sharing == Sharing::kShared ? result.weight + weight : std::max(result.weight, weight);
    result.last_below = std::max(result.last_below, low);
    result.first_free = below ? result.first_free : std::min(result.first_free, share.elsewhere);
  }
  return result;
}

}  // namespace

// Take any partition, and the level that fills the link if the flows below keep what they have and
// the others share the rest. It is not above the solution: what the flows take is a concave
// function of the level, and this follows a tangent of it. From the second step on the level thus
// rises, each time with more flows below, until the partition fits the level. (On a fatpipe this
// holds only when starting with all flows free.)
Full full_level(Capacity capacity, std::span<const Sharers::Share> shares, double near) {
  const bool shared = capacity.sharing == Sharing::kShared;
  Parted parted = part(capacity.sharing, shares, shared && near != kUnlimited ? near : 0.0);
  if (shared && parted.demand <= capacity.bandwidth) {
    return {.spare = capacity.bandwidth - parted.demand};
  }
  if (parted.weight == 0) {
    parted = part(capacity.sharing, shares, 0.0);
  }
  for (double level = 0.0; parted.weight > 0; parted = part(capacity.sharing, shares, level)) {
    level = std::max(level, (capacity.bandwidth - (shared ? parted.taken : 0.0)) / parted.weight);
    const double least = level - level * kSame;
    if (parted.last_below < least && parted.first_free >= least) {
      return {.level = level, .weight = parted.weight};
    }
  }
  return {};
}

}  // namespace outpace::links
