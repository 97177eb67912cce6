// What peers say to the server, by what they are: not known yet, a worker, the evaluator.
// Tested by src/world/live/server_test.cc.

#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "live/server.h"
#include "policy/switch_spec.h"
#include "protocol/senders.h"
#include "server/driver.h"

namespace outpace::live {
namespace {

// Why a peer cannot answer the release of this identity; empty if it can.
std::string why_not_from(const server::CoordinatorOptions& job,
                         const admission::Peer& peer,
                         const protocol::GradientId& id) {
  if (!peer.joined) {
    return "this worker has no mini-batch: it has not joined yet";
  }
  if (id.job != job.job || id.generation != job.generation) {
    return "for another job, or for this job's server before it was restarted";
  }
  if (id.worker != peer.worker || id.incarnation != peer.incarnation) {
    const auto identity = [](WorkerId worker, std::uint32_t incarnation) {
      return name(worker) + ", incarnation " + std::to_string(incarnation);
    };
    return "of " + identity(id.worker, id.incarnation) + "; this connection is of " +
           identity(peer.worker, peer.incarnation);
  }
  return "";
}

}  // namespace

void Server::receive(Time now, wire::ConnectionId from, wire::Received received) {
  const Peer* peer = admission_.find(from);
  if (peer == nullptr) {
    return receive_first(now, from, received.message);
  }
  switch (peer->role) {
    case admission::Role::kEvaluator:
      return receive_from_evaluator(now, received.message);
    case admission::Role::kWorker:
      admission_.heard(now, from);
      return receive_from_worker(now, from, *peer, std::move(received));
    case admission::Role::kSentAway:
      return;
  }
}

void Server::receive_first(Time now, wire::ConnectionId from, const protocol::Message& message) {
  std::visit(
      Overloaded{
          [&](const protocol::Hello& worker) { greet(now, from, worker); },
          [&](const protocol::Observe& evaluator) { observe(now, from, evaluator); },
          [&](const protocol::SetPolicy& set) { set_policy(now, from, set); },
          [&](const protocol::SlowDown& slow) { slow_down(from, slow); },
          [&](const protocol::AskStatus& ask) { tell_status(now, from, ask.protocol); },
          [&](const protocol::EndRun& end) { end_run(now, from, end); },
          [&](const protocol::AskEvaluated& ask) { tell_evaluated(now, from, ask); },
          [&](const protocol::AskSeats& ask) {
            guests_.ask_seats(
                *transport_,
                from,
                ask,
                admission_.end() ? std::optional(admission_.end()->why) : std::nullopt);
          },
          [&](const protocol::Expel& expel) { guests_.send_away(*transport_, from, expel); },
          [&](const protocol::AskCode& ask) { guests_.tell_code(*transport_, from, ask); },
          [&](const protocol::AskEvaluator&) {  // From a worker that has left, or whose run ended.
            ask_for_evaluator(now);
            answer(from, ExitCode::kDone, "");
          },
          [&](const auto&) {  // Also one that is new: it is no greeting.
            refuse(
                now, from, protocol::Farewell::kIncompatible, "the first message must be a hello");
          }},
      message);
}

void Server::receive_from_evaluator(Time now, const protocol::Message& message) {
  std::visit(Overloaded{[&](const protocol::Measurement& found) { take_measurement(now, found); },
                        protocol::IgnoringWorkers{},
                        protocol::IgnoringEvaluators{},
                        protocol::IgnoringServer{},
                        protocol::IgnoringCommands{}},
             message);
}

void Server::receive_from_worker(Time now,
                                 wire::ConnectionId from,
                                 const Peer& peer,
                                 wire::Received received) {
  server::Effects effects;
  std::visit(
      Overloaded{[&](const protocol::Push& push) {
                   take_push(now, from, peer, push, std::move(received));
                 },
                 [&](protocol::Constants& part) { take_constants(now, from, std::move(part)); },
                 [&](protocol::OptimizerState& state) {
                   take_state(now, from, std::move(state), std::move(received.payload).take());
                 },
                 [&](const protocol::InitialWeights&) {
                   take_initial_weights(now, from, std::move(received.payload).take());
                 },
                 [&](const protocol::Abandoned& abandoned) {
                   const std::string why = why_not_from(options_.coordinator, peer, abandoned.id);
                   if (why.empty()) {
                     coordinator_->abandon(now, abandoned, effects);
                   } else {
                     expel(now, from, "abandoned: " + why);
                   }
                 },
                 [&](const protocol::Rates& rates) { take_rates(now, from, rates); },
                 [&](const protocol::AskEvaluator&) { ask_for_evaluator(now); },
                 [&](const protocol::Heartbeat&) {
                   if (peer.joined) {  // Hearts beat while the job gathers, too.
                     coordinator_->heard(now, peer.worker, peer.incarnation);
                   }
                 },
                 [&](const protocol::Goodbye&) {
                   to_admission(now, [&](auto& out) { admission_.goodbye(from, out); });
                 },
                 // It has said hello before, and belongs to no group; and slices are put
                 // together where they are received.
                 Ignoring<protocol::Hello, protocol::Slice, protocol::Standing>{},
                 protocol::IgnoringEvaluators{},
                 protocol::IgnoringServer{},
                 protocol::IgnoringCommands{}},
      received.message);
  carry_out(now, effects);
}

void Server::take_push(Time now,
                       wire::ConnectionId from,
                       const Peer& peer,
                       const protocol::Push& push,
                       wire::Received&& received) {
  if (const std::string why = why_not_from(options_.coordinator, peer, push.id); !why.empty()) {
    return expel(now, from, "push: " + why);
  }
  std::vector<float> gradient = std::move(received.payload).take();
  const std::uint64_t numbers = admission_.terms().network->numbers();
  if (gradient.size() != numbers) {
    return expel(now,
                 from,
                 "push: the gradient has " + std::to_string(gradient.size()) +
                     " numbers, the job's network has " + std::to_string(numbers));
  }
  if (const std::string why = shard_->why_not_without(push.without); !why.empty()) {
    return expel(now, from, "push: " + why);
  }
  const bool awaited = coordinator_->awaits(push.id);
  const update::Judgement judgement =
      server::receive(*shard_, *coordinator_, push, std::move(gradient), received.squares);
  server::Effects effects;
  coordinator_->push(now, push, judgement, effects);
  const auto sends = [](const server::Effect& effect) {
    return std::holds_alternative<server::Send>(effect);
  };
  if (!awaited && std::ranges::none_of(effects, sends)) {  // Its verdict is not known any more.
    server::emplace<server::Send>(
        effects,
        peer.worker,
        protocol::Verdict{.sequence = push.id.sequence,
                          .outcome = protocol::Outcome::kRefused,
                          .why = "push: this mini-batch was answered or given up before"});
  }
  carry_out(now, effects);
}

void Server::take_measurement(Time now, const protocol::Measurement& measurement) {
  const auto evaluation = evaluations_.measured(measurement);
  if (!evaluation || !coordinator_) {
    return;
  }
  if (callbacks_.evaluated) {
    callbacks_.evaluated(*evaluation);
  }
  if (!evaluation->loss && policy::waits_for_test_loss(Spec::parse(policy_.set())) &&
      !std::exchange(warned_of_no_loss_, true)) {
    warn("the evaluator reports no test loss, and --policy " + policy_.set() +
         " waits for one: report it beside the accuracy");
  }
  to_coordinator(now, [&](auto& out) {
    server::evaluated(now, *evaluation, evaluations_, *coordinator_, out);
  });
}

}  // namespace outpace::live
