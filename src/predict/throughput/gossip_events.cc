#include "throughput/gossip_events.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/overloaded.h"
#include "base/rng.h"
#include "peer/gossip.h"
#include "sim/event_queue.h"
#include "worker/neighbour.h"

namespace outpace::throughput {
namespace {

class GossipInEvents {
 public:
  explicit GossipInEvents(const GossipOfEvents& gossip)
      : gossip_(gossip), timing_(gossip.timing), rng_(gossip.seed, 0) {
    const std::size_t workers = gossip.timing.factors.size();
    for (std::uint32_t rank = 0; rank < workers; ++rank) {
      workers_.emplace_back(averaging(), gossip.options.average_every);
    }
    for (std::uint32_t rank = 0; workers > 1 && rank < workers; ++rank) {
      carry_out(rank, workers_[rank].peer.join({.rank = rank}, draw_of(rank)));
    }
  }

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
          if (workers_[event.worker].peer.gradients() == most_of(event.worker, iterations)) {
            return begun;
          }
          begin(event.worker);
          break;
        case Kind::kKnock:
          knock(event.worker, {event.other, event.what});
          break;
        case Kind::kCame:
          came(event.worker, {event.other, event.what});
          break;
        case Kind::kMet:
          for (const std::uint32_t side : {event.other, event.worker}) {
            tell(sim::Operation::Kind::kSend, side, now - meeting(), now);
          }
          came(event.worker, {event.other, peer::Say::kOffer});
          came(event.other, {event.worker, peer::Say::kAnswer});
          break;
      }
    }
  }

 private:
  // kKnock and kCame: the worker gets this message from the other. kMet: the worker answered, the
  // other asked; the weights of both have gone over.
  enum class Kind : std::uint8_t { kBegin, kKnock, kCame, kMet };
  struct Event {
    Kind kind;
    std::uint32_t worker;
    std::uint32_t other = 0;
    peer::Say what = peer::Say::kCame;
  };
  struct Worker {
    Worker(peer::Averaging averaging, std::uint32_t every) : peer(averaging, every) {}

    peer::Gossip peer;
    Time computed{};  // When the gradient is there.
    // The weights of the present visit to this worker, whichever way they go.
    std::uint32_t visitor = 0;
    Time sends_since{};
    Time sends_until{};
  };

  // The holder of a centre never waits, and goes on until another worker is done, or for a thousand
  // times as long, when the others hardly count.
  [[nodiscard]] std::uint64_t most_of(std::uint32_t worker, std::uint32_t iterations) const {
    constexpr std::uint64_t kTimes = 1000;
    const bool holds =
        averaging() == peer::Averaging::kElastic && worker == peer::kCentre && workers_.size() > 1;
    return holds ? kTimes * iterations : iterations;
  }

  // Two workers that visited each other at the same moment again and again would never be in each
  // other's way. Real ones do not begin so exactly together.
  double starts_after() {
    const bool visits =
        averaging() == peer::Averaging::kPull || averaging() == peer::Averaging::kPush;
    return visits ? rng_.uniform() * gossip_.meeting_seconds : 0.0;
  }

  [[nodiscard]] peer::Averaging averaging() const { return gossip_.options.averaging; }
  [[nodiscard]] Duration meeting() const { return from_seconds(gossip_.meeting_seconds); }

  [[nodiscard]] peer::Draw draw_of(std::uint32_t worker) {
    return [this, worker] {
      return worker::draw_neighbour(rng_,
                                    worker,
                                    static_cast<std::uint32_t>(workers_.size()),
                                    gossip_.options.graph,
                                    peer::both_move(averaging()));
    };
  }

  void begin(std::uint32_t worker) {
    Worker& one = workers_[worker];
    const std::uint64_t iteration = one.peer.gradients();
    one.computed = timing_.finish(WorkerId{worker}, now_, 1.0, iteration);
    tell(sim::Operation::Kind::kCompute,
         worker,
         timing_.computes_from(WorkerId{worker}, now_, one.computed, 1.0, iteration),
         one.computed);
    carry_out(worker, one.peer.begin_gradient(draw_of(worker)));
    const bool averages = one.peer.in_group() && peer::waits_for_averaging(averaging()) &&
                          peer::begins_averaging(iteration, gossip_.options.average_every);
    if (!averages) {
      apply(worker, one.computed);
    }
  }

  void knock(std::uint32_t worker, const peer::Message& opening) {
    carry_out(worker, workers_[worker].peer.knock(opening, draw_of(worker)));
  }
  void came(std::uint32_t worker, const peer::Message& message) {
    carry_out(worker, workers_[worker].peer.came(message, draw_of(worker)));
  }

  void carry_out(std::uint32_t worker, const peer::Actions& actions) {
    for (const peer::Action& action : actions) {
      std::visit(Overloaded{[&](const peer::Send& send) { this->send(worker, send); },
                            [&](const peer::Await& await) { take_in(worker, await); },
                            [&](const peer::Average& average) {
                              if (average.own && peer::waits_for_averaging(averaging())) {
                                apply(worker, std::max(now_, workers_[worker].computed));
                              }
                            },
                            Ignoring<peer::Invited, peer::Skip>{}},
                 action);
    }
  }

  void send(std::uint32_t from, const peer::Send& send) {
    switch (send.what) {
      case peer::Say::kAsk:
        return knock(send.to, {from, send.what, send.invited});
      case peer::Say::kOffer:
        return;  // Goes over with the answer.
      case peer::Say::kAnswer:
        queue_.push(now_ + meeting(), {Kind::kMet, from, send.to});
        return;
      case peer::Say::kInvite:
      case peer::Say::kToCentre:
        queue_.push(message_ends(), {Kind::kKnock, send.to, from, send.what});
        return;
      case peer::Say::kRequest:
      case peer::Say::kPushed:
        queue_.push(message_ends(from, send.to), {Kind::kKnock, send.to, from, send.what});
        return;
      case peer::Say::kCame:
        queue_.push(message_ends(from, send.to), {Kind::kCame, send.to, from, send.what});
        return;
      case peer::Say::kOfCentre:
        queue_.push(message_ends(), {Kind::kCame, send.to, from, send.what});
        return;
      case peer::Say::kReply:
        visit(from, send.to, now_);
        tell_visit(from, from);
        queue_.push(workers_[from].sends_until + message(),
                    {Kind::kCame, send.to, from, send.what});
        return;
    }
  }

  // The weights of a visitor come once the one that is visited awaits them.
  void take_in(std::uint32_t worker, const peer::Await& await) {
    if (await.what == peer::Say::kPushed) {  // It says first that it is ready.
      visit(worker, await.from, message_ends(worker, await.from));
      tell_visit(worker, await.from);
      queue_.push(workers_[worker].sends_until + message(),
                  {Kind::kCame, worker, await.from, await.what});
    } else if (await.what == peer::Say::kToCentre) {
      visit(worker, await.from, now_);
      tell_visit(worker, worker);
      queue_.push(workers_[worker].sends_until, {Kind::kCame, worker, await.from, await.what});
    }
  }

  void visit(std::uint32_t visited, std::uint32_t visitor, Time since) {
    Worker& one = workers_[visited];
    one.visitor = visitor;
    one.sends_since = since;
    one.sends_until = since + meeting();
  }
  void tell_visit(std::uint32_t visited, std::uint32_t sender) const {
    const Worker& one = workers_[visited];
    tell(sim::Operation::Kind::kSend, sender, one.sends_since, one.sends_until);
  }

  [[nodiscard]] Duration message() const { return from_seconds(gossip_.message_seconds); }
  [[nodiscard]] Time message_ends() const { return now_ + message(); }

  // A message waits behind the weights of a visit that go the same way: a pair has one connection.
  [[nodiscard]] Time message_ends(std::uint32_t from, std::uint32_t to) const {
    const bool pushes = averaging() == peer::Averaging::kPush;
    const Worker& visited = workers_[pushes ? to : from];
    const bool behind = visited.visitor == (pushes ? from : to) && visited.sends_since < now_ &&
                        now_ < visited.sends_until;
    return (behind ? visited.sends_until : now_) + message();
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
