// The level at which a link is full.
//
// When each flow has min(x, its level elsewhere) per unit of weight, a link's flows take the more
// the higher x is, but at most their demand: what they take when all are limited elsewhere.

#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "links/link.h"
#include "links/sharers.h"

namespace outpace::links {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Levels this near, relatively, are the same. Well above what the rounding of sums over thousands
// of flows brings in, so that links with equal levels do not push each other back and forth.
constexpr double kSame = 1e-12;

inline bool same(double a, double b) {
  return a == b || std::abs(a - b) <= kSame * std::min(a, b);
}

struct Capacity {
  double bandwidth;
  Sharing sharing;
};

struct Full {
  double level = kUnlimited;  // The lowest at which the link is full; infinite if it never is.
  double weight = 0.0;        // Of the flows that it limits.
  double spare = 0.0;         // What the flows' demand leaves of the bandwidth, if it never is.
};

// Looks first at the level `near`, where the answer is found in one pass if no flow's level
// elsewhere lies between the two; it is infinite if nothing is known. A fatpipe is full at the
// level at which the heaviest of the flows that it limits has the bandwidth.
[[nodiscard]] Full full_level(Capacity capacity,
                              std::span<const Sharers::Share> shares,
                              double near);

}  // namespace outpace::links
