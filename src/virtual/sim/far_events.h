// The simulator's events that are not near. They are in buckets of equal spans of time, unsorted.
// Events beyond the last bucket are in one unsorted list.
//
// With a hundred thousand pending events, one heap of them all is larger than the processor's
// caches, and each pop waits for several cache lines, one after another. Putting an event into a
// bucket waits for nothing, and the heap of near events stays small. This is a ladder queue with
// two rungs (Tang, Goh & Thng, ACM TOMACS 15(3), 2005). When the buckets are used up, the events of
// the list are spread over new buckets, which cover at least the earlier half of them. So each
// event is moved twice, on average, before it is near.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace outpace::sim {

// An event's place in the order: its time, then its id. It is one wide number, so that a comparison
// takes no branch. The processor could not predict such a branch, and wrong predictions are slow.
__extension__ using EventEntry = __int128;

[[nodiscard]] constexpr EventEntry make_event_entry(Time time, std::uint64_t id) {
  return (static_cast<EventEntry>(time.time_since_epoch().count()) << 64) |
         static_cast<EventEntry>(id);
}
[[nodiscard]] constexpr Time time_of(EventEntry entry) {
  return Time{Duration{static_cast<std::int64_t>(entry >> 64)}};
}
[[nodiscard]] constexpr std::uint64_t id_of(EventEntry entry) {
  return static_cast<std::uint64_t>(entry);
}

class FarEvents {
 public:
  // At most half of `near_most` events should be near at a time; mostly far fewer are.
  explicit FarEvents(std::size_t near_most)
      : per_bucket_(near_most / 16 + 1), few_(near_most / 2) {}

  // Events at this time or later are far; the end of all time if there are none.
  [[nodiscard]] Time begin() const { return begin_; }
  [[nodiscard]] std::size_t size() const { return size_; }

  // Takes over all the entries. REQUIRES: size() is 0, and `entries` is not empty.
  void spread(std::vector<EventEntry> entries);
  // REQUIRES: it is before the end of all time, and not before begin().
  void add(EventEntry entry) {
    const std::uint64_t bucket = since_start(entry) >> shift_;
    (bucket < used_ ? buckets_[bucket] : later_).push_back(entry);
    ++size_;
  }
  // Gives back the earliest: all that happen before begin(), which moves. REQUIRES: size() > 0.
  void take(std::vector<EventEntry>& out);

  template <typename Predicate>
  void erase_if(const Predicate& predicate) {
    size_ -= std::erase_if(later_, predicate);
    for (std::vector<EventEntry>& bucket : buckets_) {
      size_ -= std::erase_if(bucket, predicate);
    }
  }

 private:
  // In nanoseconds; right for any two times of which the first is not later.
  [[nodiscard]] std::uint64_t since_start(EventEntry entry) const {
    return static_cast<std::uint64_t>(time_of(entry).time_since_epoch().count()) -
           static_cast<std::uint64_t>(start_.time_since_epoch().count());
  }
  void spread_later();
  void give(std::vector<EventEntry>& entries, std::vector<EventEntry>& out);

  std::size_t per_bucket_;  // Events that a bucket should have, roughly.
  std::size_t few_;         // This number of events is not worth spreading.
  Time begin_ = Time::max();
  std::size_t size_ = 0;
  // Bucket b is for the 2^shift_ nanoseconds that begin b times as many after start_. There are
  // used_ buckets; the first current_ are used up.
  Time start_{};
  unsigned shift_ = 0;
  std::size_t current_ = 0;
  std::size_t used_ = 0;
  std::vector<std::vector<EventEntry>> buckets_;  // Buckets beyond used_ are empty.
  std::vector<EventEntry> later_;
};

}  // namespace outpace::sim
