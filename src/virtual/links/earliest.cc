#include "links/earliest.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace outpace::links {

Earliest::Earliest(std::size_t size)
    : leaves_(std::bit_ceil(std::max<std::size_t>(size, 1))), times_(2 * leaves_, kNever) {}

void Earliest::set(std::size_t index, double time) {
  CHECK(index < leaves_);
  std::size_t node = leaves_ + index;
  times_[node] = time;
  while (node > 1) {
    node /= 2;
    const double earlier = std::min(times_[2 * node], times_[2 * node + 1]);
    if (times_[node] == earlier) {
      return;
    }
    times_[node] = earlier;
  }
}

void Earliest::collect(double until, std::vector<std::uint32_t>& out) const {
  if (first() != kNever) {
    collect_below(1, until, out);
  }
}

void Earliest::collect_below(std::size_t node,
                             double until,
                             std::vector<std::uint32_t>& out) const {
  if (times_[node] > until) {
    return;
  }
  if (node >= leaves_) {
    out.push_back(static_cast<std::uint32_t>(node - leaves_));
    return;
  }
  collect_below(2 * node, until, out);
  collect_below(2 * node + 1, until, out);
}

}  // namespace outpace::links
