#include "throughput/intervals.h"

#include <algorithm>

namespace outpace::throughput {

Intervals united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.begin < b.begin;
  });
  Intervals all;
  for (const Interval& one : intervals) {
    if (!(one.begin < one.end)) {
      continue;
    }
    if (all.empty() || one.begin > all.back().end) {
      all.push_back(one);
    } else {
      all.back().end = std::max(all.back().end, one.end);
    }
  }
  return all;
}

Intervals without(const Intervals& all, const Intervals& less) {
  Intervals left;
  const double first = all.empty() ? 0.0 : all.front().begin;
  auto hole =
      std::lower_bound(less.begin(), less.end(), first, [](const Interval& interval, double begin) {
        return interval.end <= begin;
      });
  for (Interval rest : all) {
    while (hole != less.end() && hole->end <= rest.begin) {
      ++hole;
    }
    for (auto cut = hole; cut != less.end() && cut->begin < rest.end; ++cut) {
      if (cut->begin > rest.begin) {
        left.push_back({rest.begin, cut->begin});
      }
      rest.begin = std::max(rest.begin, cut->end);
    }
    if (rest.begin < rest.end) {
      left.push_back(rest);
    }
  }
  return left;
}

double length_within(const Intervals& all, const Interval& window) {
  double length = 0.0;
  auto one = std::lower_bound(
      all.begin(), all.end(), window.begin, [](const Interval& interval, double begin) {
        return interval.end <= begin;
      });
  for (; one != all.end() && one->begin < window.end; ++one) {
    length += std::min(one->end, window.end) - std::max(one->begin, window.begin);
  }
  return length;
}

}  // namespace outpace::throughput
