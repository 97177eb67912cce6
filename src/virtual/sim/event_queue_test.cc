#include "sim/event_queue.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::sim {
namespace {

struct Payload {
  std::uint32_t worker;
};
using Queue = EventQueue<Payload>;

Time at_ns(std::int64_t nanoseconds) {
  return Time{Duration{nanoseconds}};
}

TEST(EventQueue, PopsByTimeAndAmongEqualTimesFirstInFirstOut) {
  Queue queue;
  queue.push(at_ns(20), {0});
  queue.push(at_ns(10), {1});
  queue.push(at_ns(20), {2});
  queue.push(at_ns(10), {3});
  std::vector<std::pair<Time, std::uint32_t>> popped;
  while (!queue.empty()) {
    EXPECT_EQ(queue.size(), 4 - popped.size());
    const Time next = queue.next_time();
    const Queue::Event event = queue.pop();
    EXPECT_EQ(event.time, next);
    EXPECT_EQ(queue.now(), next);
    popped.emplace_back(event.time, event.payload.worker);
  }
  const std::vector<std::pair<Time, std::uint32_t>> expected{
      {at_ns(10), 1}, {at_ns(10), 3}, {at_ns(20), 0}, {at_ns(20), 2}};
  EXPECT_EQ(popped, expected);
}

TEST(EventQueue, ACancelledEventNeverComesAndItsIdIsNotUsedAgain) {
  Queue queue;
  const EventId first = queue.push(at_ns(1), {0});
  const EventId second = queue.push(at_ns(2), {1});
  EXPECT_TRUE(queue.cancel(first));
  EXPECT_FALSE(queue.cancel(first));
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.next_time(), at_ns(2));
  const EventId third = queue.push(at_ns(3), {2});  // In the slot that the first left.
  EXPECT_NE(third, first);
  EXPECT_FALSE(queue.cancel(first));
  EXPECT_EQ(queue.pop().id, second);
  EXPECT_FALSE(queue.cancel(second));
  EXPECT_EQ(queue.pop().id, third);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.cancel(EventId{12345}));
  EXPECT_FALSE(queue.cancel(EventId{~std::uint64_t{0}}));
}

TEST(EventQueue, CancellingAllLeavesItEmptyAndUsable) {
  Queue queue;
  std::vector<EventId> ids;
  for (std::uint32_t worker = 0; worker < 1000; ++worker) {
    ids.push_back(queue.push(at_ns(worker % 7), {worker}));
  }
  for (const EventId id : ids) {
    EXPECT_TRUE(queue.cancel(id));
  }
  EXPECT_TRUE(queue.empty());
  queue.push(at_ns(5), {7});
  EXPECT_EQ(queue.pop().payload.worker, 7U);
}

TEST(EventQueueDeathTest, RefusesThePast) {
  Queue queue;
  queue.push(at_ns(10), {0});
  EXPECT_EQ(queue.pop().payload.worker, 0U);
  queue.push(at_ns(10), {0});  // Now is not the past.
  EXPECT_DEATH(queue.push(at_ns(9), {0}), "time >= now_");
  EXPECT_DEATH(queue.push(Time::max(), {0}), "Time::max");
  EXPECT_EQ(queue.pop().time, at_ns(10));
  EXPECT_DEATH(std::ignore = queue.pop(), "!empty");
  EXPECT_DEATH(std::ignore = queue.next_time(), "!empty");
}

// The rule in words: a sorted map by (time, number of the push).
class DumbTwin {
 public:
  using Key = std::pair<Time, std::uint64_t>;

  Key push(Time time, std::uint32_t worker) {
    const Key key{time, pushed_++};
    events_[key] = worker;
    return key;
  }
  bool cancel(const Key& key) { return events_.erase(key) == 1; }
  [[nodiscard]] const std::map<Key, std::uint32_t>& events() const { return events_; }
  std::pair<Time, std::uint32_t> pop() {
    const auto first = events_.extract(events_.begin());
    return {first.key().first, first.mapped()};
  }

 private:
  std::map<Key, std::uint32_t> events_;
  std::uint64_t pushed_ = 0;
};

// Pushes, cancels (also events that are long gone) and pops at random, in both queues. The times
// are few, which makes many ties, or of all magnitudes.
template <typename Queue>
void compare_with_dumb_twin(std::uint64_t seed) {
  Rng rng(seed, 0);
  Queue queue;
  DumbTwin twin;
  std::vector<std::pair<EventId, DumbTwin::Key>> pushed;
  std::int64_t now = 0;
  const std::uint64_t pushes = 1 + rng.below(8);  // In 10 steps: queues that grow and that drain.
  const std::uint64_t cancels = rng.below(8);     // In 10 other steps.
  const bool ties = rng.below(2) == 0;
  for (std::uint32_t step = 0; step < 400; ++step) {
    if (rng.below(10) < pushes) {
      const std::uint64_t span = ties ? 16 : std::uint64_t{1} << rng.below(40);
      const Time time = at_ns(now + static_cast<std::int64_t>(rng.below(span)));
      pushed.emplace_back(queue.push(time, {step}), twin.push(time, step));
    } else if (rng.below(10) < cancels && !pushed.empty()) {
      const auto& [id, key] = pushed[rng.below(pushed.size())];
      ASSERT_EQ(queue.cancel(id), twin.cancel(key));
    } else if (!twin.events().empty()) {
      const auto event = queue.pop();
      ASSERT_EQ(std::pair(event.time, event.payload.worker), twin.pop());
      now = event.time.time_since_epoch().count();
    }
    ASSERT_EQ(queue.size(), twin.events().size());
    if (!queue.empty()) {
      ASSERT_EQ(queue.next_time(), twin.events().begin()->first.first);
    }
  }
  while (!twin.events().empty()) {
    const auto event = queue.pop();
    ASSERT_EQ(std::pair(event.time, event.payload.worker), twin.pop());
  }
  ASSERT_TRUE(queue.empty());
}

TEST(EventQueue, AgreesWithADumbTwin) {
  for (std::uint64_t seed = 0; seed < 2000 && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compare_with_dumb_twin<Queue>(seed);
  }
}

TEST(EventQueue, AgreesWithADumbTwinWhenFewEventsAreMoreThanAreNear) {
  for (std::uint64_t seed = 0; seed < 2000 && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compare_with_dumb_twin<EventQueue<Payload, 2>>(seed);
    compare_with_dumb_twin<EventQueue<Payload, 40>>(seed);
  }
}

TEST(EventQueue, ReachesToTheEndOfAllTime) {
  EventQueue<Payload, 4> queue;
  for (std::uint32_t i = 0; i < 100; ++i) {
    queue.push(Time::min() + Duration{i}, {i});
    queue.push(Time::max() - Duration{1 + i}, {199 - i});
    queue.push(at_ns(0), {100});
  }
  std::uint32_t last = 0;
  while (!queue.empty()) {
    const std::uint32_t worker = queue.pop().payload.worker;
    ASSERT_GE(worker, last);
    last = worker;
  }
  EXPECT_EQ(last, 199U);
}

// A guess that is wrong costs nothing but time; one that is always wrong is of no use.
// The part of events that were told of as soon() and as next() before they came up.
double told_before(std::uint32_t workers) {
  const std::uint32_t pops = 20 * workers;
  Queue queue;
  Rng rng(1, 0);
  const auto later = [&rng] { return Duration{500 + static_cast<std::int64_t>(rng.below(1000))}; };
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    queue.push(Time{later()}, {worker});
  }
  std::vector<bool> told_soon(workers);
  std::vector<bool> told_next(workers);
  std::uint32_t told = 0;
  for (std::uint32_t i = 0; i < pops; ++i) {
    const Queue::Event event = queue.pop();
    told += told_soon[event.payload.worker] && told_next[event.payload.worker] ? 1U : 0U;
    told_soon[event.payload.worker] = told_next[event.payload.worker] = false;
    queue.push(event.time + later(), event.payload);
    told_soon[queue.soon().worker] = told_next[queue.next().worker] = true;
  }
  return static_cast<double>(told) / pops;
}

TEST(EventQueue, TellsOfNearlyAllEventsBeforeTheyComeUp) {
  EXPECT_GT(told_before(1000), 0.9);
  EXPECT_GT(told_before(10'000), 0.9);  // Most of these are far.
}

}  // namespace
}  // namespace outpace::sim
