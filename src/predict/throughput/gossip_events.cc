#include "throughput/gossip_events.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "sim/event_queue.h"
#include "worker/neighbour.h"

namespace outpace::throughput {
namespace {

constexpr std::uint32_t kCentre = 0;  // The worker that holds it.

class GossipInEvents {
 public:
  explicit GossipInEvents(const GossipOfEvents& gossip)
      : gossip_(gossip),
        timing_(gossip.timing),
        rng_(gossip.seed, 0),
        workers_(gossip.timing.factors.size()) {}

  // Begins of iterations, up to that of the first worker to begin this many: afterwards the others
  // would slow each other less. The last one is the end.
  std::vector<double> run(std::uint32_t iterations) {
    for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) {
      queue_.push(Time{} + from_seconds(starts_after()), {Kind::kBegin, worker});
    }
    std::vector<double> begun;
    while (true) {
      const auto [now, id, event] = queue_.pop();
      now_ = now;
      switch (event.kind) {
        case Kind::kBegin:
          begun.push_back(to_seconds(now.time_since_epoch()));
          if (workers_[event.worker].iteration == most_of(event.worker, iterations)) {
            return begun;
          }
          begin(event.worker);
          break;
        case Kind::kInvited:
          workers_[event.worker].invitations.push_back(event.other);
          seek(event.worker);
          break;
        case Kind::kMet:
          met(event.worker, event.other);
          break;
        case Kind::kVisits:
          arrive(event.other, event.worker);
          break;
        case Kind::kCame:
          came(event.other, event.worker);
          break;
        case Kind::kServed:
          served(event.other);
          break;
        case Kind::kBack:
          apply(event.worker, std::max(now_, workers_[event.worker].computed));
          break;
      }
    }
  }

 private:
  enum class Kind : std::uint8_t { kBegin, kInvited, kMet, kVisits, kCame, kServed, kBack };
  // kInvited: the other invites the worker. kMet: the worker answered, the other asked. kVisits,
  // kCame (the weights of a visit) and kServed: the worker visits the other.
  struct Event {
    Kind kind;
    std::uint32_t worker;
    std::uint32_t other = 0;
  };
  struct Worker {
    std::uint64_t iteration = 0;
    Time computed{};      // When the gradient is there.
    bool wanted = false;  // A meeting of its own.
    // One that asks.
    bool is_seeking = false;
    bool is_own = false;  // The meeting that it seeks.
    std::deque<std::uint32_t> invitations;
    // One that answers, or is visited.
    std::deque<std::uint32_t> asked;  // The first one is at a meeting with it.
    Time answers_since{};
    Time sends_since{};  // The weights of a visit, whichever way they go.
    Time sends_until{};
  };

  // The holder of a centre never waits, and goes on until another worker is done, or for a thousand
  // times as long, when the others hardly count.
  [[nodiscard]] std::uint64_t most_of(std::uint32_t worker, std::uint32_t iterations) const {
    constexpr std::uint64_t kTimes = 1000;
    const bool holds =
        averaging() == job::Averaging::kElastic && worker == kCentre && workers_.size() > 1;
    return holds ? kTimes * iterations : iterations;
  }

  // Two workers that visited each other at the same moment again and again would never be in each
  // other's way. Real ones do not begin so exactly together.
  double starts_after() {
    const bool visits =
        averaging() == job::Averaging::kPull || averaging() == job::Averaging::kPush;
    return visits ? rng_.uniform() * gossip_.meeting_seconds : 0.0;
  }

  static bool asks(std::uint32_t worker) { return worker::side_of(worker) == worker::Side::kAsks; }
  [[nodiscard]] job::Averaging averaging() const { return gossip_.options.averaging; }

  std::uint32_t neighbour_of(std::uint32_t worker) {
    return worker::draw_neighbour(rng_,
                                  worker,
                                  static_cast<std::uint32_t>(workers_.size()),
                                  gossip_.options.graph,
                                  job::both_move(averaging()));
  }

  void begin(std::uint32_t worker) {
    Worker& one = workers_[worker];
    one.computed = timing_.finish(WorkerId{worker}, now_, 1.0, one.iteration);
    tell(sim::Operation::Kind::kCompute,
         worker,
         timing_.computes_from(WorkerId{worker}, now_, one.computed, 1.0, one.iteration),
         one.computed);
    const bool averages = workers_.size() > 1 && one.iteration % gossip_.options.average_every == 0;
    ++one.iteration;
    if (!averages || !average(worker)) {
      apply(worker, one.computed);
    }
  }

  // Begins an averaging of the worker's own. Returns whether the gradient waits for it.
  bool average(std::uint32_t worker) {
    switch (averaging()) {
      case job::Averaging::kFree:
      case job::Averaging::kCoupled:
        if (asks(worker)) {
          workers_[worker].wanted = true;
          seek(worker);
        } else if (averaging() == job::Averaging::kCoupled) {
          queue_.push(message_ends(), {Kind::kInvited, neighbour_of(worker), worker});
        }
        return averaging() == job::Averaging::kCoupled;
      case job::Averaging::kPull:
      case job::Averaging::kPush: {
        const std::uint32_t neighbour = neighbour_of(worker);
        queue_.push(message_ends(worker, neighbour), {Kind::kVisits, worker, neighbour});
        return true;
      }
      case job::Averaging::kElastic:
        if (worker == kCentre) {
          return false;
        }
        queue_.push(message_ends(), {Kind::kVisits, worker, kCentre});
        return true;
    }
    return false;
  }

  [[nodiscard]] Time message_ends() const { return now_ + from_seconds(gossip_.message_seconds); }

  // A message waits behind the weights of a visit that go the same way: a pair has one connection.
  [[nodiscard]] Time message_ends(std::uint32_t from, std::uint32_t to) const {
    const bool pushes = averaging() == job::Averaging::kPush;
    const Worker& visited = workers_[pushes ? to : from];
    const bool behind = !visited.asked.empty() && visited.asked.front() == (pushes ? from : to) &&
                        visited.sends_since < now_ && now_ < visited.sends_until;
    return (behind ? visited.sends_until : now_) + from_seconds(gossip_.message_seconds);
  }

  void arrive(std::uint32_t visited, std::uint32_t visitor) {
    workers_[visited].asked.push_back(visitor);
    if (workers_[visited].asked.size() == 1) {
      serve(visited);
    }
  }

  void serve(std::uint32_t visited) {
    Worker& one = workers_[visited];
    const std::uint32_t visitor = one.asked.front();
    const bool pushes = averaging() == job::Averaging::kPush;
    // A push begins once the one that is visited is ready for it and has said so.
    one.sends_since = pushes ? message_ends(visited, visitor) : now_;
    one.sends_until = one.sends_since + from_seconds(gossip_.meeting_seconds);
    tell(sim::Operation::Kind::kSend, pushes ? visitor : visited, one.sends_since, one.sends_until);
    if (averaging() == job::Averaging::kElastic) {
      queue_.push(one.sends_until, {Kind::kServed, visitor, visited});
    }
    queue_.push(one.sends_until + from_seconds(gossip_.message_seconds),
                {Kind::kCame, visitor, visited});
  }

  // The one that has got the weights says so, and the next visit begins.
  void came(std::uint32_t visited, std::uint32_t visitor) {
    if (averaging() == job::Averaging::kPush) {
      queue_.push(message_ends(visited, visitor), {Kind::kBack, visitor});
      served(visited);
      return;
    }
    if (averaging() == job::Averaging::kPull) {
      queue_.push(message_ends(visitor, visited), {Kind::kServed, visitor, visited});
    }
    apply(visitor, std::max(now_, workers_[visitor].computed));
  }

  void served(std::uint32_t visited) {
    workers_[visited].asked.pop_front();
    if (!workers_[visited].asked.empty()) {
      serve(visited);
    }
  }

  // Begins the next meeting of a worker that asks, unless it is at one.
  void seek(std::uint32_t worker) {
    Worker& one = workers_[worker];
    if (one.is_seeking || (!one.wanted && one.invitations.empty())) {
      return;
    }
    one.is_seeking = true;
    one.is_own = one.wanted;
    std::uint32_t neighbour = 0;
    if (one.is_own) {
      neighbour = neighbour_of(worker);
    } else {
      neighbour = one.invitations.front();
      one.invitations.pop_front();
    }
    workers_[neighbour].asked.push_back(worker);
    if (workers_[neighbour].asked.size() == 1) {
      meet(neighbour);
    }
  }

  // With the first one that asked it.
  void meet(std::uint32_t answers) {
    workers_[answers].answers_since = now_;
    queue_.push(now_ + from_seconds(gossip_.meeting_seconds),
                {Kind::kMet, answers, workers_[answers].asked.front()});
  }

  void met(std::uint32_t answers, std::uint32_t asks) {
    for (const std::uint32_t side : {asks, answers}) {
      tell(sim::Operation::Kind::kSend, side, workers_[answers].answers_since, now_);
    }
    Worker& asking = workers_[asks];
    asking.is_seeking = false;
    if (asking.is_own) {
      asking.wanted = false;
    }
    if (averaging() == job::Averaging::kCoupled) {
      const std::uint32_t owner = asking.is_own ? asks : answers;
      apply(owner, std::max(now_, workers_[owner].computed));
    }
    workers_[answers].asked.pop_front();
    if (!workers_[answers].asked.empty()) {
      meet(answers);
    }
    seek(asks);
  }

  void apply(std::uint32_t worker, Time ready) {
    const Time applied = ready + from_seconds(gossip_.apply_seconds);
    tell(sim::Operation::Kind::kApply, worker, ready, applied);
    queue_.push(applied, {Kind::kBegin, worker});
  }

  void tell(sim::Operation::Kind kind, std::uint32_t worker, Time begin, Time end) const {
    if (gossip_.performed) {
      gossip_.performed({kind, worker, 0, begin, end});
    }
  }

  const GossipOfEvents& gossip_;
  SampledTiming timing_;
  Rng rng_;
  std::vector<Worker> workers_;
  sim::EventQueue<Event> queue_;
  Time now_{};
};

}  // namespace

Rate gossip_rate_by_events(const GossipOfEvents& gossip, std::uint32_t iterations) {
  constexpr std::uint32_t kLeast = 20;
  CHECK(iterations >= kLeast);
  std::vector<double> begun = GossipInEvents(gossip).run(iterations);
  const double end = begun.back();
  begun.pop_back();
  const double first = end / 5.0;  // As with the gradients that a server accepts.
  const double span = (end - first) / kSpansOfRun;
  std::vector<double> rates(kSpansOfRun);
  for (const double time : begun) {
    if (time >= first) {
      const auto at = static_cast<std::size_t>((time - first) / span);
      rates[std::min(at, kSpansOfRun - 1)] += gossip.batch / span;
    }
  }
  return of_spans(rates);
}

}  // namespace outpace::throughput
