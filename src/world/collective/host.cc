#include "collective/host.h"

#include <algorithm>
#include <utility>

#include "admission/driver.h"
#include "base/check.h"
#include "base/overloaded.h"
#include "collective/member.h"
#include "collective/reported.h"
#include "peer/batch_plan.h"
#include "protocol/senders.h"
#include "wire/transports.h"

namespace outpace::collective {
namespace {

using std::chrono::steady_clock;

constexpr Duration kStatusPeriod = std::chrono::milliseconds(100);
constexpr Duration kNever = std::chrono::hours(24 * 365);

}  // namespace

Host::Host(HostOptions options, HostCallbacks callbacks)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      admission_({.workers = options_.workers,
                  .heartbeat_timeout = kNever,  // Hearts beat once all have come.
                  .one_evaluator = true,
                  .seats_from = options_.seats_from}),
      guests_(guest_options(options_), admission_, guest_calls()),
      formation_([this](const std::string& event, const std::string& decided) {
        if (callbacks_.decided) {
          callbacks_.decided(event, decided);
        }
      }),
      evaluations_(options_.target),
      next_snapshot_(peer::next_snapshot(0, options_.evaluate_every)),
      transport_(wire::serve(
          {.address = options_.listen,
           .token = options_.token,
           .beyond = options_.listen_beyond,
           .tls = options_.tls,
           .passes = options_.keyring,
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
  // People join machines by hand.
  deadline_ = now() + (options_.keyring ? options_.patience_to_return : options_.patience);
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
    tell_guests(moment);
    if (tally_ && moment >= next_status && callbacks_.status) {
      next_status = moment + kStatusPeriod;
      callbacks_.status(run_time(moment), *tally_, admission_.terms().examples, evaluations_);
    }
  }
  end_guests(now());
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
  const admission::Peer* peer = admission_.find(from);
  if (peer == nullptr) {
    return receive_first(now, from, received.message);
  }
  switch (peer->role) {
    case admission::Role::kEvaluator:
      return receive_from_evaluator(now, received.message);
    case admission::Role::kWorker: {
      Peer& worker = peers_.at(from);
      worker.last_heard = now;
      return receive_from_worker(now, worker, std::move(received));
    }
    case admission::Role::kSentAway:
      return;
  }
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
  admission::Effects effects;
  std::visit(
      Overloaded{
          [&](const protocol::Hello& worker) { greet(now, from, worker); },
          [&](const protocol::Observe& evaluator) { admission_.observe(from, evaluator, effects); },
          [&](const protocol::AskSeats& ask) {
            const bool over = phase_ > Phase::kRunning;
            guests_.ask_seats(*transport_, from, ask, over ? std::optional(why_) : std::nullopt);
          },
          [&](const protocol::Expel& expel) { guests_.send_away(*transport_, from, expel); },
          [&](const protocol::AskCode& ask) { guests_.tell_code(*transport_, from, ask); },
          [&](const protocol::AskStatus& ask) { tell_status(now, from, ask); },
          [&](const protocol::SetPolicy& set) { refuse_command(from, set.protocol); },
          [&](const protocol::SlowDown& slow) { refuse_command(from, slow.protocol); },
          // Also a message that is new: it is no greeting.
          [&](const auto&) {
            admission_.refuse(from,
                              {protocol::Farewell::kIncompatible,
                               "this run has no server: workers join it by outpace join, without a "
                               "command of their own"},
                              effects);
          }},
      message);
  admit(now, std::move(effects));
}

void Host::receive_from_worker(Time now, Peer& peer, wire::Received received) {
  std::visit(
      Overloaded{[&](const protocol::Push& report) {
                   const auto told = reported_in(received.payload.span());
                   if (report.id.worker == peer.worker && told) {
                     take_report(now, report, *told);
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

void Host::admit(Time now, admission::Effects effects) {
  admission::carry_out(
      admission_,
      now,
      effects,
      Overloaded{[&](const admission::Accept& accepted) {
                   peers_[accepted.peer] = {.worker = accepted.worker,
                                            .host = admission_.find(accepted.peer)->host,
                                            .last_heard = now,
                                            .quiet = false};
                   awaited_.insert(accepted.worker);  // Also one that had gone.
                   transport_->authorise(
                       accepted.peer,
                       std::max<std::uint64_t>(admission_.terms().network->numbers(),
                                               kReportedNumbers));
                   if (phase_ == Phase::kRunning) {
                     came(now, accepted.peer);
                   } else {
                     begin_when_all_are_there(now);
                   }
                 },
                 [&](const admission::Refuse& refused) {
                   if (peers_.contains(refused.peer)) {
                     lose(now, refused.peer, refused.stop.why);
                   }
                   transport_->send(refused.peer, refused.stop, nullptr);
                   transport_->close(refused.peer);
                 },
                 [&](const admission::HangUp& ended) { transport_->close(ended.peer); },
                 [&](const admission::Serve&) { begin_when_all_are_there(now); },
                 [&](const admission::EvaluatorLost&) { evaluations_.lost(); },
                 [&](const admission::Warn& warning) { say(warning.text); },
                 // All begin at once, each with its own weights.
                 Ignoring<admission::Welcome,
                          admission::Open,
                          admission::Reset,
                          admission::Join,
                          admission::Leave,
                          admission::ScriptChanged,
                          admission::ForgetWeights,
                          admission::MeasureLast,
                          admission::StartEvaluator,
                          admission::Awaits,
                          admission::End>{}});
}

void Host::greet(Time now, wire::ConnectionId from, const protocol::Hello& worker) {
  const auto proved = transport_->proved(from);
  if (!proved) {
    return;  // It has gone.
  }
  admission::Effects effects;
  const std::string why =
      admission_.why_other_number(live::Keyring::text_of(*proved), worker.worker);
  if (phase_ > Phase::kRunning) {
    admission_.refuse(from, {protocol::Farewell::kFinished, "the run is over: " + why_}, effects);
  } else if (!why.empty()) {
    admission_.refuse(from, {protocol::Farewell::kFenced, why}, effects);
  } else {
    const auto held = admission_.in_the_way(now, worker);
    if (held && transport_->hung_up(*held)) {  // A process that follows another at once.
      transport_->close(*held);
      admission::Effects gone;
      admission_.hung_up(*held, gone);
      if (peers_.contains(*held)) {
        lose(now, *held, "end of stream");
      }
      admit(now, std::move(gone));
    }
    admission_.hello(now, from, worker, Version{0}, effects);
  }
  admit(now, std::move(effects));
}

void Host::welcome(Time now, wire::ConnectionId connection, bool newcomer) {
  transport_->send(connection,
                   protocol::Welcome{.job = 1,
                                     .generation = 1,
                                     .needs_weights = false,
                                     .heartbeat = options_.heartbeat_timeout / kHeartbeats,
                                     .seed = options_.seed,
                                     .with_replacement = options_.with_replacement,
                                     .now = run_time(now),
                                     .newcomer = newcomer},
                   nullptr);
}

void Host::begin_when_all_are_there(Time now) {
  if (peers_.size() < awaited_.size() || (options_.expects_evaluator && !admission_.evaluator()) ||
      phase_ != Phase::kGathering || too_few()) {
    return;
  }
  tally_.emplace(options_.topology,
                 peer::BatchPlanOptions{.workers = options_.workers,
                                        .batch = options_.batch,
                                        .examples = admission_.terms().examples,
                                        .updates = options_.limits.updates,
                                        .iterations = options_.limits.iterations,
                                        .epochs = options_.limits.epochs});
  for (auto& [connection, peer] : peers_) {
    tally_->joined(peer.worker, peer.host);
    peer.last_heard = now;
  }
  began_ = now;
  for (const auto& [connection, peer] : peers_) {
    // Another machine's libraries may draw other weights from the same seed.
    welcome(now, connection, /*newcomer=*/is_guest(connection));
  }
  phase_ = Phase::kRunning;
  admission_.began();
  if (callbacks_.joined) {
    for (const auto& [connection, peer] : peers_) {
      callbacks_.joined(run_time(now), peer.worker);
    }
  }
  deadline_ = Time::max();
  order(now, formation_.begin(awaited_));
}

void Host::closed(Time now, wire::ConnectionId from, const wire::Closed& closed) {
  guests_.gone(from);
  admission::Effects effects;
  admission_.closed(from, closed.why, effects);
  if (peers_.contains(from)) {
    lose(now, from, closed.why);
  }
  admit(now, std::move(effects));
}

}  // namespace outpace::collective
