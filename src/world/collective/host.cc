#include "collective/host.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "collective/member.h"
#include "peer/batch_plan.h"
#include "protocol/senders.h"
#include "wire/transports.h"

namespace outpace::collective {
namespace {

using std::chrono::steady_clock;

constexpr Duration kStatusPeriod = std::chrono::milliseconds(100);

}  // namespace

Host::Host(HostOptions options, HostCallbacks callbacks)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      evaluations_(options_.target),
      next_snapshot_(peer::next_snapshot(0, options_.evaluate_every)),
      transport_(wire::serve(
          {.address = options_.listen,
           .token = options_.token,
           .refused = [this](const std::string& text) { mailbox_.post(StrangerRefused{text}); }},
          [this](wire::ConnectionId connection, wire::ConnectionEvent event) {
            mailbox_.post(FromConnection{connection, std::move(event)});
          })) {
  CHECK(options_.workers >= 1);
  for (std::uint32_t id = 0; id < options_.workers; ++id) {
    awaited_.insert(WorkerId{id});
  }
}

Host::~Host() = default;

void Host::stop(ExitCode code, const std::string& why) {
  mailbox_.post(StopAsked{code, why, /*at_once=*/false});
}

void Host::fail(ExitCode code, const std::string& why) {
  mailbox_.post(StopAsked{code, why, /*at_once=*/true});
}

void Host::worker_ended(const std::string& worker, const std::string& how) {
  mailbox_.post(WorkerEnded{worker, how});
}

void Host::say(const std::string& line) const {
  if (callbacks_.warned) {
    callbacks_.warned(line);
  }
}

Time Host::now() const {
  return Time{std::chrono::duration_cast<Duration>(steady_clock::now() - created_)};
}

HostResult Host::run() {
  std::vector<Post> posts;
  Time next_status{};
  deadline_ = now() + options_.patience;
  while (phase_ != Phase::kOver) {
    mailbox_.receive(steady_clock::now() + kStatusPeriod, posts);
    for (Post& post : posts) {
      handle(now(), std::move(post));
    }
    const Time moment = now();
    if (const char* limit = limit_reached(moment)) {
      end(moment, ExitCode::kDone, limit);
    }
    check_silence(moment);
    check_connections(moment);
    go_on(moment);
    if (tally_ && moment >= next_status && callbacks_.status) {
      next_status = moment + kStatusPeriod;
      callbacks_.status(run_time(moment), *tally_, dataset_, evaluations_);
    }
  }
  return result();
}

void Host::handle(Time now, Post post) {
  std::visit(Overloaded{[&](FromConnection& from) {
                          std::visit(Overloaded{[&](wire::Received& received) {
                                                  receive(
                                                      now, from.connection, std::move(received));
                                                },
                                                [&](const wire::Closed& why) {
                                                  closed(now, from.connection, why);
                                                }},
                                     from.event);
                        },
                        [&](const StopAsked& asked) { stop_asked(now, asked); },
                        [&](const StrangerRefused& refused) { say(refused.text); },
                        [&](const WorkerEnded& how) { ended(now, how); }},
             post);
}

void Host::stop_asked(Time now, const StopAsked& asked) {
  if (asked.at_once || phase_ == Phase::kGathering) {
    give_up(asked.code, asked.why);
  } else {
    end(now, asked.code, asked.why);
  }
}

void Host::receive(Time now, wire::ConnectionId from, wire::Received received) {
  if (from == evaluator_) {
    return receive_from_evaluator(now, received.message);
  }
  const auto found = peers_.find(from);
  if (found == peers_.end()) {
    return receive_first(now, from, received.message);
  }
  found->second.last_heard = now;
  receive_from_worker(now, found->second, std::move(received));
}

void Host::receive_from_evaluator(Time now, const protocol::Message& message) {
  std::visit(Overloaded{[&](const protocol::Measurement& found) { take_measurement(now, found); },
                        protocol::IgnoringEvaluators{},
                        protocol::IgnoringWorkers{},
                        protocol::IgnoringServer{},
                        protocol::IgnoringCommands{}},
             message);
}

void Host::receive_first(Time now, wire::ConnectionId from, const protocol::Message& message) {
  const auto refused = [&] {
    refuse(from, "this run has no server; train starts all its workers");
  };
  std::visit(Overloaded{[&](const protocol::Hello& hello) { greet(now, from, hello); },
                        [&](const protocol::Observe&) {
                          if (evaluator_) {
                            return refused();
                          }
                          evaluator_ = from;
                          begin_when_all_are_there(now);
                        },
                        // Also a message that is new: it is no greeting.
                        [&](const auto&) { refused(); }},
             message);
}

void Host::receive_from_worker(Time now, Peer& peer, wire::Received received) {
  std::visit(
      Overloaded{[&](const protocol::Push& report) {
                   if (report.id.worker == peer.worker && received.payload.size() == 1) {
                     take_report(now, report, received.payload.span().front());
                   }
                 },
                 // A worker of a ring or a gossip brings its weights.
                 [&](const protocol::Snapshot& brought) {
                   take_weights(
                       now, peer.worker, brought.version, std::move(received.payload).take());
                 },
                 [&](const protocol::Goodbye&) { peer.quiet = true; },
                 [&](const protocol::Standing& standing) {
                   if (phase_ == Phase::kRunning || phase_ == Phase::kStopping) {
                     stands(now, peer.worker, standing);
                   }
                 },
                 protocol::IgnoringWorkers{},
                 protocol::IgnoringEvaluators{},
                 protocol::IgnoringServer{},
                 protocol::IgnoringCommands{}},
      received.message);
}

void Host::greet(Time now, wire::ConnectionId from, const protocol::Hello& hello) {
  if (!fits(hello)) {
    refuse(from, name(hello.worker) + " does not fit this run: another program, network or data");
    return;
  }
  manifest_ = hello.manifest;
  dataset_ = hello.dataset_examples;
  peers_[from] = {.worker = hello.worker, .host = hello.host, .last_heard = now, .quiet = false};
  transport_->authorise(from, manifest_->numbers());
  begin_when_all_are_there(now);
}

bool Host::fits(const protocol::Hello& hello) const {
  const bool another =
      manifest_ && (hello.manifest != *manifest_ || hello.dataset_examples != dataset_);
  const bool there = std::ranges::any_of(
      peers_, [&](const auto& peer) { return peer.second.worker == hello.worker; });
  return phase_ == Phase::kGathering && hello.protocol == protocol::kProtocolVersion &&
         index(hello.worker) < options_.workers && hello.dataset_examples > 0 && !another && !there;
}

void Host::refuse(wire::ConnectionId from, const std::string& why) {
  transport_->send(from, protocol::Stop{protocol::Farewell::kIncompatible, why}, nullptr);
  transport_->close(from);
}

void Host::begin_when_all_are_there(Time now) {
  if (peers_.size() < awaited_.size() || (options_.expects_evaluator && !evaluator_) ||
      phase_ != Phase::kGathering || too_few()) {
    return;
  }
  tally_.emplace(options_.topology,
                 peer::BatchPlanOptions{.workers = options_.workers,
                                        .batch = options_.batch,
                                        .examples = dataset_,
                                        .updates = options_.limits.updates,
                                        .iterations = options_.limits.iterations,
                                        .epochs = options_.limits.epochs});
  for (auto& [connection, peer] : peers_) {
    tally_->joined(peer.worker, peer.host);
    peer.last_heard = now;
    transport_->send(connection,
                     protocol::Welcome{.job = 1,
                                       .generation = 1,
                                       .needs_weights = false,
                                       .heartbeat = options_.heartbeat_timeout / kHeartbeats,
                                       .seed = options_.seed,
                                       .with_replacement = options_.with_replacement},
                     nullptr);
  }
  began_ = now;
  phase_ = Phase::kRunning;
  if (callbacks_.joined) {
    for (const auto& [connection, peer] : peers_) {
      callbacks_.joined(run_time(now), peer.worker);
    }
  }
  deadline_ = Time::max();
  order(now, formation_.begin(awaited_));
}

void Host::closed(Time now, wire::ConnectionId from, const wire::Closed& closed) {
  if (from == evaluator_) {
    evaluator_.reset();
    evaluations_.lost();
    return;
  }
  const auto found = peers_.find(from);
  if (found == peers_.end()) {
    return;
  }
  lose(now, from, closed.why);
}

}  // namespace outpace::collective
