// The simulator's queue of events, ordered by time and then by the order of the pushes. Events of
// equal times come first in, first out, so a run is the same run every time.
//
// Time stands still between pops: now() is the time of the event popped last, and nothing can be
// pushed before it. A cancelled event stays behind as a tombstone until it comes to the top, or
// until there are more tombstones than pending events and all are swept out at once. The queue
// allocates almost nothing once it has held as many events as it ever will.
//
//   push, pop    O(log n), with four children a node: half the depth of a binary heap. Amortized
//                O(1), for any number of events, if the event is far when it is pushed
//   cancel       O(1), plus its share of the pop or the sweep that buries it
//   size, empty  O(1)
//
// A small number of events is in one heap. When there are many, most of them are far
// (far_events.h). A bucket of far events that comes near is sorted into a run, and its events are
// popped from the run. Only events that are pushed into the bucket's time after that are in the
// heap. So the queue knows early which events come next, and can prefetch what they need.
//
// An entry of the heap is 16 bytes, and the four children of a node are one cache line. Payloads
// are stored apart and do not move. A pop leaves a hole at the top, which the next push fills,
// because a simulation mostly handles an event and then pushes the next.

#pragma once

#include <algorithm>
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
#include "sim/far_events.h"

namespace outpace::sim {

// Names one event of one queue, and is never used again. Later pushes get greater ids.
enum class EventId : std::uint64_t {};

template <typename Payload, std::size_t kNearMost = 4096>
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
  // Takes the next event out; now() becomes its time. REQUIRES: not empty.
  [[nodiscard]] Event pop();

  // The payloads of an event that comes soon and of one that comes next, so that a caller can
  // prefetch what they need. Both are guesses; most events are returned once by each function.
  // REQUIRES: something has been pushed.
  [[nodiscard]] const Payload& soon() const { return guess(kSoon, 2); }
  [[nodiscard]] const Payload& next() const { return guess(kNext, 1); }

  // The time of the event that pop() will give. It is not const, because it removes tombstones.
  // REQUIRES: not empty.
  [[nodiscard]] Time next_time();
  // Before the first pop, a time long before any event.
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // Events that are to come; cancelled ones do not count.
  [[nodiscard]] std::size_t size() const { return held() - cancelled_ - (hole_ ? 1 : 0); }

 private:
  static constexpr unsigned kSlotBits = 24;
  static constexpr std::uint64_t kSlotMask = kPendingMax - 1;
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};  // Marks a slot without an event.

  // Ids are an event's number among all pushes, then its slot: no two entries are equal.
  using Entry = EventEntry;
  // Stands where no entry is, so that a node always has four children to compare.
  static constexpr Entry kNever = make_event_entry(Time::max(), kNobody);

  // The heap is one array of entries whose root is entry 3; the children of entry i are group
  // i - 2, and the parent of entry i is entry i / 4 + 2.
  struct alignas(64) Group {
    std::array<Entry, 4> entries{kNever, kNever, kNever, kNever};
  };
  static constexpr std::size_t kRoot = 3;
  // From here on, 64 KiB from the root, the heap may not be in the processor's nearest cache. All
  // grandchildren are prefetched with the children, or each level would wait for the one above it.
  static constexpr std::size_t kFar = 4096;
  // Places ahead in the run: of the slot that is prefetched, of soon(), and of next().
  static constexpr std::size_t kSeen = std::min<std::size_t>(64, kNearMost);
  static constexpr std::size_t kSoon = 32;
  static constexpr std::size_t kNext = 6;

  struct Slot {
    std::uint64_t id;  // The pending event's in it, or kNobody.
    Payload payload;
  };

  [[nodiscard]] Entry& entry(std::size_t i) { return heap_[i / 4].entries[i % 4]; }
  [[nodiscard]] const Entry& top() const { return heap_[0].entries[kRoot]; }
  [[nodiscard]] std::size_t end() const { return kRoot + entries_; }
  // The payload `ahead` places further in the run. Where the run is shorter, that of the event that
  // rose to `level` of the heap.
  [[nodiscard]] const Payload& guess(std::size_t ahead, std::size_t level) const {
    const std::uint64_t id = ahead < run_.size() - at_ ? id_of(run_[at_ + ahead]) : risen_[level];
    return slots_[slot_of(id)].payload;
  }
  [[nodiscard]] Entry first_of_run() const { return at_ < run_.size() ? run_[at_] : kNever; }
  [[nodiscard]] std::size_t held() const { return entries_ + (run_.size() - at_) + far_.size(); }
  [[nodiscard]] static std::size_t slot_of(std::uint64_t id) { return id & kSlotMask; }

  [[nodiscard]] std::size_t take_slot();
  void rise(std::size_t hole, Entry entry);
  void sink(std::size_t hole, Entry entry);
  void remove_top();
  void settle();
  void move_away();
  void extend_run();
  void build();
  void sweep();

  // Near events are in the heap or in the run. The run has the events of former far buckets, in
  // order. All events are in the heap until there are more than kNearMost.
  std::vector<Group> heap_ = std::vector<Group>(1);
  std::size_t entries_ = 0;  // In the heap, cancelled ones and the hole too.
  std::vector<Entry> run_;
  std::size_t at_ = 0;  // The entries of the run before it have been popped.
  FarEvents far_{kNearMost};
  bool hole_ = false;  // The top has been popped, and nothing put in its place.
  std::size_t cancelled_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  // The ids that rose to the top, and to the levels below it, when a hole was filled last.
  std::array<std::uint64_t, 4> risen_{};
  std::uint64_t pushed_ = 0;
  Time now_ = Time::min();
};

template <typename Payload, std::size_t kNearMost>
EventId EventQueue<Payload, kNearMost>::push(Time time, const Payload& payload) {
  CHECK(time >= now_ && time < Time::max());
  CHECK(pushed_ < kPushedMax);
  const std::size_t slot = take_slot();
  const std::uint64_t id = (pushed_++ << kSlotBits) | slot;
  slots_[slot] = {id, payload};
  if (time >= far_.begin()) {
    far_.add(make_event_entry(time, id));
    return EventId{id};
  }
  if (hole_) {
    hole_ = false;
    sink(kRoot, make_event_entry(time, id));
    prefetch(slots_[slot_of(risen_[3])]);  // soon() may return it next.
    return EventId{id};
  }
  if (end() == 4 * heap_.size()) {
    heap_.emplace_back();
  }
  ++entries_;
  rise(end() - 1, make_event_entry(time, id));
  if (entries_ > kNearMost && far_.begin() == Time::max()) {
    move_away();
  }
  return EventId{id};
}

// Makes all events far; the earliest come back with the next pop.
template <typename Payload, std::size_t kNearMost>
void EventQueue<Payload, kNearMost>::move_away() {
  std::vector<Entry> all(run_.begin() + static_cast<std::ptrdiff_t>(at_), run_.end());
  run_.clear();
  at_ = 0;
  for (std::size_t i = kRoot; i < end(); ++i) {
    all.push_back(std::exchange(entry(i), kNever));
  }
  entries_ = 0;
  far_.spread(std::move(all));
}

template <typename Payload, std::size_t kNearMost>
bool EventQueue<Payload, kNearMost>::cancel(EventId id) {
  const auto number = static_cast<std::uint64_t>(id);
  const std::size_t slot = slot_of(number);
  if (slot >= slots_.size() || slots_[slot].id != number || number == kNobody) {
    return false;
  }
  slots_[slot].id = kNobody;
  ++cancelled_;
  if (cancelled_ > held() / 2) {
    sweep();
  }
  return true;
}

template <typename Payload, std::size_t kNearMost>
typename EventQueue<Payload, kNearMost>::Event EventQueue<Payload, kNearMost>::pop() {
  CHECK(!empty());
  settle();
  const bool of_run = first_of_run() < top();
  const Entry first = of_run ? first_of_run() : top();
  at_ += of_run ? 1 : 0;
  if (at_ + kSeen < run_.size()) {
    prefetch(slots_[slot_of(id_of(run_[at_ + kSeen]))]);
  }
  hole_ = !of_run;
  now_ = time_of(first);
  Slot& slot = slots_[slot_of(id_of(first))];
  const Event event{now_, EventId{id_of(first)}, slot.payload};
  slot.id = kNobody;
  free_slots_.push_back(static_cast<std::uint32_t>(slot_of(id_of(first))));
  return event;
}

template <typename Payload, std::size_t kNearMost>
Time EventQueue<Payload, kNearMost>::next_time() {
  CHECK(!empty());
  settle();
  return time_of(std::min(top(), first_of_run()));
}

template <typename Payload, std::size_t kNearMost>
std::size_t EventQueue<Payload, kNearMost>::take_slot() {
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
template <typename Payload, std::size_t kNearMost>
void EventQueue<Payload, kNearMost>::rise(std::size_t hole, Entry entry_to_place) {
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
template <typename Payload, std::size_t kNearMost>
void EventQueue<Payload, kNearMost>::sink(std::size_t hole, Entry entry_to_place) {
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

template <typename Payload, std::size_t kNearMost>
void EventQueue<Payload, kNearMost>::remove_top() {
  const Entry last = std::exchange(entry(end() - 1), kNever);
  --entries_;
  if (entries_ > 0) {
    sink(kRoot, last);
  }
}

// Takes the hole and tombstones off the top, so that the top is the next event. REQUIRES: not
// empty.
template <typename Payload, std::size_t kNearMost>
void EventQueue<Payload, kNearMost>::settle() {
  if (hole_) {
    hole_ = false;
    remove_top();
  }
  while (true) {
    if (run_.size() - at_ <= kSeen && far_.size() > 0) {
      extend_run();
    }
    const bool of_run = first_of_run() < top();
    const std::uint64_t first = id_of(of_run ? first_of_run() : top());
    if (cancelled_ == 0 || slots_[slot_of(first)].id == first) {
      return;
    }
    free_slots_.push_back(static_cast<std::uint32_t>(slot_of(first)));
    --cancelled_;
    if (of_run) {
      ++at_;
    } else {
      remove_top();
    }
  }
}

// Adds buckets to the run until it is long enough to look kSeen places ahead, or nothing is far.
template <typename Payload, std::size_t kNearMost>
void EventQueue<Payload, kNearMost>::extend_run() {
  run_.erase(run_.begin(), run_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  while (run_.size() <= kSeen && far_.size() > 0) {
    const auto old = static_cast<std::ptrdiff_t>(run_.size());
    far_.take(run_);
    std::sort(run_.begin() + old, run_.end());
  }
}

// Makes the entries a heap, from the last parent up (Floyd, 1964).
template <typename Payload, std::size_t kNearMost>
void EventQueue<Payload, kNearMost>::build() {
  if (entries_ > 1) {
    for (std::size_t i = (end() - 1) / 4 + 2; i >= kRoot; --i) {
      sink(i, entry(i));
    }
  }
}

// Drops all tombstones and makes the rest a heap again.
template <typename Payload, std::size_t kNearMost>
void EventQueue<Payload, kNearMost>::sweep() {
  if (hole_) {
    hole_ = false;
    remove_top();
  }
  const auto is_gone = [this](Entry candidate) {
    const std::size_t slot = slot_of(id_of(candidate));
    const bool gone = slots_[slot].id != id_of(candidate);
    if (gone) {
      free_slots_.push_back(static_cast<std::uint32_t>(slot));
    }
    return gone;
  };
  std::size_t kept = kRoot;
  for (std::size_t i = kRoot; i < end(); ++i) {
    const Entry candidate = std::exchange(entry(i), kNever);
    if (!is_gone(candidate)) {
      entry(kept++) = candidate;
    }
  }
  entries_ = kept - kRoot;
  run_.erase(run_.begin(), run_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  std::erase_if(run_, is_gone);
  far_.erase_if(is_gone);
  cancelled_ = 0;
  build();
}

}  // namespace outpace::sim
