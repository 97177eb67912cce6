// The level at which a link is full.
//
// Each flow takes min(x, its level elsewhere) per unit of weight. The higher x, the more the flows
// of a link take, up to their demand: what they take when all are limited elsewhere.

#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "links/link.h"
#include "links/sharers.h"

namespace outpace::links {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Levels within this relative distance count as equal. It is well above the rounding of sums over
// thousands of flows, so that links with equal levels do not push each other back and forth.
constexpr double kSame = 1e-12;

inline bool same(double a, double b) {
  return a == b || std::abs(a - b) <= kSame * std::min(a, b);
}

struct Capacity {
  double bandwidth;
  Sharing sharing;
};

struct Full {
  // The lowest level at which the link is full; infinite if it never is.
  double level = kUnlimited;
  double weight = 0.0;  // Weight of the flows that it limits.
  double spare = 0.0;   // If it never is: the bandwidth that the flows' demand leaves.
};

// Tries the level `near` first, where one pass suffices if no flow's level elsewhere lies between
// `near` and the result; infinite if no guess is known. A fatpipe is full at the level at which the
// heaviest of the flows that it limits has the bandwidth.
[[nodiscard]] Full full_level(Capacity capacity,
                              std::span<const Sharers::Share> shares,
                              double near);

}  // namespace outpace::links
