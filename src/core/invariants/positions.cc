#include "invariants/positions.h"

#include <iterator>

namespace outpace::invariants {

bool Positions::take(const protocol::Range& range) {
  std::uint64_t begin = range.begin;
  std::uint64_t end = range.end;
  auto next = taken_.lower_bound({range.epoch, range.begin});
  if (next != taken_.begin()) {
    const auto before = std::prev(next);
    if (before->first.first == range.epoch && before->second > range.begin) {
      return false;
    }
    if (before->first.first == range.epoch && before->second == range.begin) {
      begin = before->first.second;
    }
  }
  if (next != taken_.end() && next->first.first == range.epoch) {
    if (next->first.second < range.end) {
      return false;
    }
    if (next->first.second == range.end) {
      end = next->second;
      taken_.erase(next);
    }
  }
  taken_[{range.epoch, begin}] = end;
  size_ += range.size();
  return true;
}

bool Positions::give_back(const protocol::Range& range) {
  auto holder = taken_.upper_bound({range.epoch, range.begin});
  if (holder == taken_.begin()) {
    return false;
  }
  --holder;
  const auto [epoch, begin] = holder->first;
  const std::uint64_t end = holder->second;
  if (epoch != range.epoch || end < range.end) {
    return false;
  }
  taken_.erase(holder);
  if (begin < range.begin) {
    taken_[{epoch, begin}] = range.begin;
  }
  if (range.end < end) {
    taken_[{epoch, range.end}] = end;
  }
  size_ -= range.size();
  return true;
}

}  // namespace outpace::invariants
