#include "sim/far_events.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace outpace::sim {

void FarEvents::spread(std::vector<EventEntry> entries) {
  CHECK(size_ == 0 && !entries.empty());
  later_ = std::move(entries);
  size_ = later_.size();
  spread_later();
}

void FarEvents::take(std::vector<EventEntry>& out) {
  CHECK(size_ > 0);
  while (current_ < used_ && buckets_[current_].empty()) {
    ++current_;
  }
  if (current_ == used_ && later_.size() <= few_) {
    used_ = 0;
    current_ = 0;
    begin_ = Time::max();
    give(later_, out);
    return;
  }
  if (current_ == used_) {
    spread_later();  // The first bucket has the first event.
  }
  give(buckets_[current_++], out);
  __extension__ using Wide = __int128;
  const Wide end = static_cast<Wide>(start_.time_since_epoch().count()) +
                   (static_cast<Wide>(current_) << shift_);
  begin_ = Time{Duration{static_cast<std::int64_t>(
      std::min(end, static_cast<Wide>(Time::max().time_since_epoch().count())))}};
}

void FarEvents::give(std::vector<EventEntry>& entries, std::vector<EventEntry>& out) {
  size_ -= entries.size();
  out.insert(out.end(), entries.begin(), entries.end());
  entries.clear();
}

// As wide as the buckets have to be for the earlier half of the events, and as many as reach twice
// as far as these.
void FarEvents::spread_later() {
  const std::size_t half = later_.size() / 2;
  const auto middle = later_.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(later_.begin(), middle, later_.end());
  start_ = time_of(*std::min_element(later_.begin(), middle + 1));
  begin_ = start_;
  const std::uint64_t span = since_start(*middle);
  constexpr double kWidest = 0x1p62;  // What a number of nanoseconds can be.
  const double each =
      static_cast<double>(span) / static_cast<double>(std::max<std::size_t>(half, 1));
  const double width = std::clamp(each * static_cast<double>(per_bucket_), 1.0, kWidest);
  shift_ = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(width))) - 1;
  current_ = 0;
  used_ = 2 * (span >> shift_) + 1;
  buckets_.resize(std::max(buckets_.size(), used_));
  std::size_t kept = 0;
  for (const EventEntry entry : later_) {
    const std::uint64_t bucket = since_start(entry) >> shift_;
    if (bucket < used_) {
      buckets_[bucket].push_back(entry);
    } else {
      later_[kept++] = entry;
    }
  }
  later_.resize(kept);
}

}  // namespace outpace::sim
