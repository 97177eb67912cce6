// The simulator's future: events by (time, the order in which they were pushed), so that equal
// times come first in, first out, and a run is the same run every time.
//
// Time stands still between pops: now() is the time of the event popped last, and nothing can be
// pushed before it. A cancelled event stays behind as a tombstone until it comes to the top, or
// until tombstones outnumber what is pending and all are swept out at once. Nothing is allocated
// once the queue has held as many events as it ever will.
//
//   push, pop    O(log n), four children a node: half the depth of a binary heap
//   cancel       O(1), plus its share of the pop or the sweep that buries it
//   size, empty  O(1)
//
// An entry of the heap is 16 bytes, and the four children of a node are one cache line; what an
// event carries lies apart and is not moved. A pop leaves a hole at the top, which the next push
// fills: what a simulation does most is handle an event and push the next.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/prefetch.h"
#include "base/time.h"

namespace outpace::sim {

// Names one event for ever, in the queue that gave it out. Those of later pushes are greater.
enum class EventId : std::uint64_t {};

template <typename Payload>
class EventQueue {
  static_assert(std::is_trivially_copyable_v<Payload>, "an event is plain data");

 public:
  struct Event {
    Time time;
    EventId id;
    Payload payload;
  };

  // At most 2^24 events may be pending or cancelled at once, and 2^40 - 1 pushed in all.
  static constexpr std::uint64_t kPendingMax = std::uint64_t{1} << 24U;
  static constexpr std::uint64_t kPushedMax = (std::uint64_t{1} << 40U) - 1;

  // REQUIRES: time >= now(), and before the end of all time.
  EventId push(Time time, const Payload& payload);
  // False if the event was popped or cancelled before: then nothing happens.
  bool cancel(EventId id);
  // The next event; from then on it is now. REQUIRES: not empty.
  [[nodiscard]] Event pop();

  // What two events carry that are to come soon and, of these, next, as far as it can be guessed;
  // each is told of once as either. To prepare for them. REQUIRES: something has been pushed.
  [[nodiscard]] const Payload& soon() const { return slots_[slot_of(risen_[2])].payload; }
  [[nodiscard]] const Payload& next() const { return slots_[slot_of(risen_[1])].payload; }

  // Of the event that pop() will give; not const, for it tidies up what is before that event.
  // REQUIRES: not empty.
  [[nodiscard]] Time next_time();
  // Begins long before the first event.
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // Events that are to come; cancelled ones do not count.
  [[nodiscard]] std::size_t size() const { return entries_ - cancelled_ - (hole_ ? 1 : 0); }

 private:
  static constexpr unsigned kSlotBits = 24;
  static constexpr std::uint64_t kSlotMask = kPendingMax - 1;
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};  // Of a slot without an event.

  // An event's place in the order: its time, then its id (its number among all pushes, then its
  // slot). One wide number, so that comparing takes no branch: which of two events is earlier is a
  // coin toss, and a wrong guess is dear. No two are equal.
  __extension__ using Entry = __int128;
  [[nodiscard]] static constexpr Entry make_entry(Time time, std::uint64_t id) {
    return (static_cast<Entry>(time.time_since_epoch().count()) << 64) | static_cast<Entry>(id);
  }
  [[nodiscard]] static Time time_of(Entry entry) {
    return Time{Duration{static_cast<std::int64_t>(entry >> 64)}};
  }
  [[nodiscard]] static std::uint64_t id_of(Entry entry) {
    return static_cast<std::uint64_t>(entry);
  }
  // Stands where no entry is, so that a node always has four children to compare.
  static constexpr Entry kNever =
      (static_cast<Entry>(Time::max().time_since_epoch().count()) << 64) | kNobody;

  // The heap is one array of entries whose root is entry 3; the children of entry i are group
  // i - 2, and the parent of entry i is entry i / 4 + 2.
  struct alignas(64) Group {
    std::array<Entry, 4> entries{kNever, kNever, kNever, kNever};
  };
  static constexpr std::size_t kRoot = 3;
  // From here on, 64 KiB from the root, the heap may not be in the processor's nearest cache. All
  // grandchildren are asked for with the children, or each level would wait for the one above it.
  static constexpr std::size_t kFar = 4096;

  struct Slot {
    std::uint64_t id;  // Of the pending event in it, or kNobody.
    Payload payload;
  };

  [[nodiscard]] Entry& entry(std::size_t i) { return heap_[i / 4].entries[i % 4]; }
  [[nodiscard]] const Entry& top() const { return heap_[0].entries[kRoot]; }
  [[nodiscard]] std::size_t end() const { return kRoot + entries_; }
  [[nodiscard]] static std::size_t slot_of(std::uint64_t id) { return id & kSlotMask; }

  [[nodiscard]] std::size_t take_slot();
  void rise(std::size_t hole, Entry entry);
  void sink(std::size_t hole, Entry entry);
  void remove_top();
  void settle();
  void sweep();

  std::vector<Group> heap_ = std::vector<Group>(1);
  std::size_t entries_ = 0;  // In the heap, cancelled ones and the hole too.
  bool hole_ = false;        // The top has been popped, and nothing put in its place.
  std::size_t cancelled_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  // What rose to the top, and to the levels below it, when a hole was filled last.
  std::array<std::uint64_t, 4> risen_{};
  std::uint64_t pushed_ = 0;
  Time now_ = Time::min();
};

template <typename Payload>
EventId EventQueue<Payload>::push(Time time, const Payload& payload) {
  CHECK(time >= now_ && time < Time::max());
  CHECK(pushed_ < kPushedMax);
  const std::size_t slot = take_slot();
  const std::uint64_t id = (pushed_++ << kSlotBits) | slot;
  slots_[slot] = {id, payload};
  if (hole_) {
    hole_ = false;
    sink(kRoot, make_entry(time, id));
    prefetch(slots_[slot_of(risen_[3])]);  // For when it is told of as soon().
    return EventId{id};
  }
  if (end() == 4 * heap_.size()) {
    heap_.emplace_back();
  }
  ++entries_;
  rise(end() - 1, make_entry(time, id));
  return EventId{id};
}

template <typename Payload>
bool EventQueue<Payload>::cancel(EventId id) {
  const auto number = static_cast<std::uint64_t>(id);
  const std::size_t slot = slot_of(number);
  if (slot >= slots_.size() || slots_[slot].id != number || number == kNobody) {
    return false;
  }
  slots_[slot].id = kNobody;
  ++cancelled_;
  if (cancelled_ > entries_ / 2) {
    sweep();
  }
  return true;
}

template <typename Payload>
typename EventQueue<Payload>::Event EventQueue<Payload>::pop() {
  CHECK(!empty());
  settle();
  now_ = time_of(top());
  const std::uint64_t id = id_of(top());
  Slot& slot = slots_[slot_of(id)];
  const Event event{now_, EventId{id}, slot.payload};
  slot.id = kNobody;
  free_slots_.push_back(static_cast<std::uint32_t>(slot_of(id)));
  hole_ = true;
  return event;
}

template <typename Payload>
Time EventQueue<Payload>::next_time() {
  CHECK(!empty());
  settle();
  return time_of(top());
}

template <typename Payload>
std::size_t EventQueue<Payload>::take_slot() {
  if (free_slots_.empty()) {
    CHECK(slots_.size() < kPendingMax);
    slots_.emplace_back();
    if (free_slots_.capacity() < slots_.capacity()) {
      free_slots_.reserve(slots_.capacity());  // So that a pop never allocates.
    }
    return slots_.size() - 1;
  }
  const std::size_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

// Puts the entry where it belongs on the way from the hole to the root.
template <typename Payload>
void EventQueue<Payload>::rise(std::size_t hole, Entry entry_to_place) {
  while (hole != kRoot) {
    const std::size_t parent = hole / 4 + 2;
    if (entry_to_place > entry(parent)) {
      break;
    }
    entry(hole) = entry(parent);
    hole = parent;
  }
  entry(hole) = entry_to_place;
}

// Puts the entry where it belongs below the hole.
template <typename Payload>
void EventQueue<Payload>::sink(std::size_t hole, Entry entry_to_place) {
  Group* const groups = heap_.data();
  const std::size_t size = heap_.size();
  Entry* to = &entry(hole);
  std::size_t level = 0;
  while (hole - 2 < size) {
    // The least child's place is computed, not chosen: as a branch it would be a wrong guess every
    // other time, and as entries the four are too many for the registers.
    Entry* const children = groups[hole - 2].entries.data();
    if (hole >= kFar && 4 * (hole - 2) + 1 < size) {
      for (std::size_t below = 4 * (hole - 2) - 2; below < 4 * (hole - 2) + 2; ++below) {
        prefetch_line(&groups[below]);
      }
    }
    const auto second = static_cast<std::size_t>(children[1] < children[0]);
    const auto fourth = static_cast<std::size_t>(children[3] < children[2]);
    const auto is_right = static_cast<std::size_t>(children[2 + fourth] < children[second]);
    const std::size_t least = 2 * is_right + (second ^ ((second ^ fourth) & (0 - is_right)));
    const Entry rising = children[least];
    if (rising > entry_to_place) {
      break;
    }
    if (level < risen_.size()) {
      risen_[level++] = id_of(rising);
    }
    *to = rising;
    to = children + least;
    hole = 4 * (hole - 2) + least;
  }
  *to = entry_to_place;
}

template <typename Payload>
void EventQueue<Payload>::remove_top() {
  const Entry last = std::exchange(entry(end() - 1), kNever);
  --entries_;
  if (entries_ > 0) {
    sink(kRoot, last);
  }
}

// Takes the hole and tombstones off the top, so that the top is the next event. REQUIRES: not
// empty.
template <typename Payload>
void EventQueue<Payload>::settle() {
  if (hole_) {
    hole_ = false;
    remove_top();
  }
  while (cancelled_ > 0 && slots_[slot_of(id_of(top()))].id != id_of(top())) {
    free_slots_.push_back(static_cast<std::uint32_t>(slot_of(id_of(top()))));
    --cancelled_;
    remove_top();
  }
}

// Drops all tombstones and makes the rest a heap again, from the last parent up (Floyd, 1964).
template <typename Payload>
void EventQueue<Payload>::sweep() {
  if (hole_) {
    hole_ = false;
    remove_top();
  }
  std::size_t kept = kRoot;
  for (std::size_t i = kRoot; i < end(); ++i) {
    const Entry candidate = std::exchange(entry(i), kNever);
    const std::size_t slot = slot_of(id_of(candidate));
    if (slots_[slot].id == id_of(candidate)) {
      entry(kept++) = candidate;
    } else {
      free_slots_.push_back(static_cast<std::uint32_t>(slot));
    }
  }
  entries_ = kept - kRoot;
  cancelled_ = 0;
  if (entries_ > 1) {
    for (std::size_t i = (end() - 1) / 4 + 2; i >= kRoot; --i) {
      sink(i, entry(i));
    }
  }
}

}  // namespace outpace::sim
