#include "worker/slices.h"

#include <iterator>
#include <string>

#include "base/error.h"

namespace outpace::worker {

void Slices::restart() {
  final_from_ = numbers_;
  unsent_ = numbers_;
  early_.clear();
}

std::optional<Slice> Slices::add(std::size_t begin, std::size_t end) {
  const std::string which =
      "numbers [" + std::to_string(begin) + ", " + std::to_string(end) + ") of the gradient ";
  if (begin >= end || end > numbers_) {
    throw usage_error(which + "are none; it has " + std::to_string(numbers_));
  }
  const auto after = early_.upper_bound(begin);
  const bool overlaps_next = after != early_.end() && after->first < end;
  const bool overlaps_before = after != early_.begin() && std::prev(after)->second > begin;
  if (end > final_from_ || overlaps_next || overlaps_before) {
    throw usage_error(which + "were final before");
  }
  early_.emplace_hint(after, begin, end);
  while (!early_.empty() && std::prev(early_.end())->second == final_from_) {
    final_from_ = std::prev(early_.end())->first;
    early_.erase(std::prev(early_.end()));
  }
  // What is final at the very end goes with the push, which follows at once.
  if (least_ == 0 || final_from_ == 0 || unsent_ - final_from_ < least_) {
    return std::nullopt;
  }
  const Slice slice{.begin = final_from_, .end = unsent_};
  unsent_ = final_from_;
  return slice;
}

}  // namespace outpace::worker
