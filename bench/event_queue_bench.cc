// The hold model: a queue of constant length, from which the next event is popped and pushed again
// an exponential time later. A simulation is hardly anything else. std::priority_queue, which can
// cancel nothing, stands beside it.

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "base/time.h"
#include "sim/event_queue.h"

namespace outpace::sim {
namespace {

struct Payload {
  std::uint32_t worker;
  std::uint32_t kind;
  std::uint64_t release;
};

// Drawn beforehand, so that what is timed is the queue.
std::vector<Duration> gaps() {
  std::vector<Duration> gaps(1 << 16U);
  Rng rng(1, 0);
  for (Duration& gap : gaps) {
    gap = from_seconds(rng.exponential());
  }
  return gaps;
}

// std::priority_queue with the same order: by time, then first in, first out.
class StandardQueue {
 public:
  struct Event {
    Time time;
    std::uint64_t number;
    Payload payload;

    bool operator<(const Event& other) const {
      return std::tie(time, number) > std::tie(other.time, other.number);
    }
  };

  void push(Time time, const Payload& payload) { events_.push({time, pushed_++, payload}); }
  Event pop() {
    const Event event = events_.top();
    events_.pop();
    return event;
  }

 private:
  std::priority_queue<Event> events_;
  std::uint64_t pushed_ = 0;
};

template <typename Queue>
void hold(benchmark::State& state) {
  const std::vector<Duration> later = gaps();
  const auto pending = static_cast<std::uint32_t>(state.range(0));
  Queue queue;
  std::size_t i = 0;
  const auto next_gap = [&] { return later[i++ & (later.size() - 1)]; };
  for (std::uint32_t worker = 0; worker < pending; ++worker) {
    queue.push(Time{next_gap()}, Payload{worker, 0, 0});
  }
  for (auto _ : state) {
    const auto event = queue.pop();
    queue.push(event.time + next_gap(), event.payload);
  }
  state.SetItemsProcessed(state.iterations());
}

// Each hold also cancels an event and pushes another: a deadline that was not needed.
void hold_and_cancel(benchmark::State& state) {
  const std::vector<Duration> later = gaps();
  const auto pending = static_cast<std::uint32_t>(state.range(0));
  EventQueue<Payload> queue;
  std::size_t i = 0;
  const auto next_gap = [&] { return later[i++ & (later.size() - 1)]; };
  std::vector<EventId> deadlines;
  for (std::uint32_t worker = 0; worker < pending; ++worker) {
    queue.push(Time{next_gap()}, Payload{worker, 0, 0});
    deadlines.push_back(queue.push(Time{std::chrono::hours(1)}, Payload{worker, 1, 0}));
  }
  for (auto _ : state) {
    const auto event = queue.pop();
    queue.push(event.time + next_gap(), event.payload);
    EventId& deadline = deadlines[event.payload.worker];
    queue.cancel(deadline);
    deadline = queue.push(event.time + std::chrono::hours(1), Payload{event.payload.worker, 1, 0});
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_TEMPLATE(hold, EventQueue<Payload>)->Name("hold/EventQueue")->Arg(1000)->Arg(100'000);
BENCHMARK_TEMPLATE(hold, StandardQueue)->Name("hold/priority_queue")->Arg(1000)->Arg(100'000);
BENCHMARK(hold_and_cancel)->Name("hold_and_cancel/EventQueue")->Arg(1000)->Arg(100'000);

}  // namespace
}  // namespace outpace::sim

BENCHMARK_MAIN();
