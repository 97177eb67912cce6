#include "live/server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/overloaded.h"
#include "policy/catalogue.h"
#include "server/driver.h"
#include "wire/transports.h"

namespace outpace::live {
namespace {

using std::chrono::steady_clock;

constexpr Duration kStatusPeriod = std::chrono::milliseconds(100);

Time to_time(steady_clock::time_point point) {
  return Time{std::chrono::duration_cast<Duration>(point.time_since_epoch())};
}

steady_clock::time_point to_steady(Time time) {
  return steady_clock::time_point(
      std::chrono::duration_cast<steady_clock::duration>(time.time_since_epoch()));
}

}  // namespace

Server::Server(ServerOptions options, ServerCallbacks callbacks)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      evaluations_(options_.target),
      strand_([this](Post post) { take(std::move(post)); }, [this] { rest(); }) {
  // What can be wrong in the options shows before anybody connects.
  (void)policy::make_policy(options_.policy, options_.coordinator.workers, options_.policy_inputs);
  phases_ = policy::phases_of(options_.policy);
  set_policy_ = options_.policy.text;
  policy_ = phases_.front().policy.text;
  server::check(options_.shard);
  manifest_ = options_.manifest;
  if (manifest_) {
    shard_.emplace(options_.shard, std::move(options_.weights), manifest_->sizes());
  }
  if (options_.resumed) {
    keep(now(), *options_.resumed);
    options_.resumed.reset();
    resumed_at_ = coordinator_->version();
  }
  const auto warned = [this](const std::string& text) { strand_.post(TransportWarned{text}); };
  transport_ =
      wire::serve({.address = options_.listen,
                   .token = options_.token,
                   .tls = options_.tls,
                   .refused = warned,
                   .warned = warned,
                   .keep_alive = std::max(wire::kKeepAlive, options_.coordinator.heartbeat_timeout),
                   .reach = options_.reach},
                  [this](wire::ConnectionId connection, wire::ConnectionEvent event) {
                    strand_.post(FromConnection{connection, std::move(event)});
                  });
}

Server::~Server() = default;

RunResult Server::run() {
  gathers_since_ = now();
  looked_for_ = gathers_since_;
  tell_constants();  // Constants of the run that goes on.
  strand_.open();
  for (bool over = false; !over;) {
    Time next{};
    strand_.run([&] {  // The loop rests here.
      over = finish_.has_value();
      next = wake_at_ = std::min(next_tick(), now() + kStatusPeriod);
    });
    if (!over) {
      strand_.wait_until(to_steady(next));
    }
  }
  strand_.run([this] { hand_over_weights(); });
  await_evaluations();
  RunResult found;
  strand_.run([&] {
    found = result();
    close_the_run();
  });
  strand_.leave();
  return found;
}

void Server::stop(ExitCode code, const std::string& why) {
  strand_.post(StopAsked{code, why});
}

void Server::nobody_will_join() {
  strand_.post(NobodyWillJoin{});
}

void Server::evaluator_failed() {
  strand_.post(EvaluatorFailed{});
}

void Server::nobody_will_ask() {
  strand_.post(NobodyWillAsk{});
}

Time Server::now() const {
  return to_time(steady_clock::now());
}

// ---- What came in -------------------------------------------------------------------------------

void Server::take(Post post) {
  if (over_) {
    take_late(post);
    return;
  }
  handle(now(), std::move(post));
}

// What has arrived counts before what is due: else a policy's deadline would cut off gradients that
// wait here to be handled, or in their sockets to be read.
void Server::rest() {
  if (over_) {
    return;
  }
  const Time now = this->now();
  if (!finish_ && !put_off_.puts_off(now, due(), [this] { return transport_->has_unread(); })) {
    tick(now);
  }
  if (finish_ || next_tick() < wake_at_) {
    strand_.wake();
  }
}

void Server::handle(Time now, Post post) {
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
                        [&](const NobodyWillJoin&) { nobody_joins(now); },
                        [&](const EvaluatorFailed&) { evaluator_comes_ = false; },
                        [&](const NobodyWillAsk&) { asks_no_more_ = true; },
                        [&](const TransportWarned& warning) { warn(warning.text); }},
             post);
}

void Server::stop_asked(Time now, const StopAsked& asked) {
  if (finish_) {
    hurries_ = true;
    return;
  }
  if (!coordinator_) {
    finish_ = {asked.code, asked.why};
    return;
  }
  server::Effects effects;
  coordinator_->finish(now, asked.code, asked.why, effects);
  carry_out(now, effects);
}

void Server::nobody_joins(Time now) {
  if (finish_) {
    return;
  }
  if (!coordinator_) {
    finish_ = {ExitCode::kTooFewWorkers, "too few workers: all ended before they joined"};
    return;
  }
  server::Effects effects;
  coordinator_->nobody_will_join(now, effects);
  carry_out(now, effects);
}

void Server::closed(Time now, wire::ConnectionId from, const wire::Closed& closed) {
  const auto found = peers_.find(from);
  if (found == peers_.end()) {
    return;
  }
  const Peer peer = std::move(found->second);
  peers_.erase(found);
  std::erase(next_evaluators_, from);
  if (evaluator_ == from) {
    replace_evaluator(closed.why);
  }
  if (peer.joined && coordinator_ && connection_of_[index(peer.worker)] == from) {
    server::Effects effects;
    connection_of_[index(peer.worker)].reset();
    if (!coordinator_->finished()) {
      warn(name(peer.worker) + " is gone: " + closed.why);
    }
    coordinator_->leave(now, peer.worker, peer.incarnation, policy::Departure::kDead, effects);
    carry_out(now, effects);
  }
  forget_offers_of(now, from);
}

void Server::dismiss(wire::ConnectionId connection,
                     protocol::Farewell how,
                     const std::string& why) {
  if (const auto peer = peers_.find(connection); peer != peers_.end()) {
    peer->second.role = Role::kSentAway;
  }
  transport_->send(connection, protocol::Stop{how, why}, nullptr);
  transport_->close(connection);
  // Every worker of a wrong program comes, and with --restart-workers again and again.
  if (how == protocol::Farewell::kIncompatible && why != std::exchange(refused_, why)) {
    warn("refused a connection: " + why);
  }
}

void Server::warn(const std::string& text) const {
  if (callbacks_.warned) {
    callbacks_.warned(text);
  }
}

// ---- What goes out ------------------------------------------------------------------------------

void Server::carry_out(Time now, server::Effects& effects) {
  tell_begin();
  look_ahead(effects);
  std::vector<server::MeasuredNorms> measured;
  server::carry_out(
      effects,
      shard_ ? &*shard_ : nullptr,
      Overloaded{[&](const server::Send& sent) {
                   const bool last = last_send_[index(sent.worker)] == &sent;
                   send(sent, last ? wire::More::kNone : wire::More::kAtOnce);
                 },
                 [&](const server::Disconnect& disconnected) { disconnect(disconnected); },
                 [&](const server::TakeSnapshot& snapshot) {
                   send_snapshot(snapshot.version, coordinator_->run_time(now), snapshot.examples);
                 },
                 [&](const server::TakeCheckpoint&) { take_checkpoint(now); },
                 [&](const server::MeasuredNorms& norms) { measured.push_back(norms); },
                 [&](const server::Switched& switched) { policy_switched(switched); },
                 Ignoring<server::Stalled>{},  // Statistics and a warning say so.
                 [&](const server::LeaveOut& left_out) {
                   tell_left_out(left_out, coordinator_->options(), callbacks_.left_out);
                 },
                 [&](const server::Warn& warning) { warn(warning.text); },
                 [&](const server::Finish& finish) {
                   if (finish.code != ExitCode::kDone) {  // It may be gone on with.
                     take_checkpoint(now);
                   }
                   finish_ = finish;
                   give_up_asked(finish.why);
                 }});
  for (const server::MeasuredNorms& norms : measured) {
    server::Effects next;
    coordinator_->measured_norms(now, norms.version, norms.norms, next);
    carry_out(now, next);
  }
}

void Server::look_ahead(const server::Effects& effects) {
  for (const server::Effect& effect : effects) {
    if (const auto* finish = std::get_if<server::Finish>(&effect)) {
      if (callbacks_.finishes) {
        callbacks_.finishes(*finish);
      }
    }
    if (const auto* sent = std::get_if<server::Send>(&effect)) {
      const std::size_t worker = index(sent->worker);
      last_send_.resize(std::max(last_send_.size(), worker + 1));
      last_send_[worker] = sent;
    }
  }
}

void Server::send(const server::Send& send, wire::More more) {
  const auto& connection = connection_of_[index(send.worker)];
  if (!connection) {
    return;
  }
  const bool released = std::holds_alternative<protocol::Release>(send.message);
  const auto message =
      std::visit([](const auto& told) { return protocol::Message(told); }, send.message);
  transport_->send(*connection, message, released ? shard_->release(send.worker) : nullptr, more);
}

void Server::send_snapshot(Version version, Time committed, std::uint64_t examples) {
  if (!evaluator_) {
    return;
  }
  if (evaluations_.sent(version, committed, examples)) {
    send_weights(version);
  } else if (!std::exchange(warned_of_skipping_, true)) {
    warn("the evaluator is behind; some snapshots are skipped: raise --evaluate-every");
  }
}

void Server::disconnect(const server::Disconnect& disconnect) {
  auto& connection = connection_of_[index(disconnect.worker)];
  if (connection) {
    dismiss(*connection, disconnect.stop.how, disconnect.stop.why);
    connection.reset();
  }
}

Time Server::next_tick() const {
  return put_off_.again(due());
}

Time Server::due() const {
  const Time due = coordinator_
                       ? coordinator_->next_deadline()
                       : asks_others_at().value_or(gathers_since_ + options_.coordinator.patience);
  return begun() || !callbacks_.awaits ? due : std::min(due, looked_for_ + kAwaitsPeriod);
}

void Server::tick(Time now) {
  say_what_it_waits_for(now);
  if (!coordinator_) {
    if (const auto due = asks_others_at(); due && now >= *due) {
      ask_others_for_weights();
    }
    if (now >= gathers_since_ + options_.coordinator.patience) {
      start_without_evaluator(now);
    }
    return;
  }
  if (now >= coordinator_->next_deadline()) {
    server::Effects effects;
    coordinator_->tick(now, effects);
    carry_out(now, effects);
  }
  look_at_weights(now);
  if (coordinator_->started() && now - last_status_ >= kStatusPeriod && callbacks_.status) {
    last_status_ = now;
    callbacks_.status(coordinator_->run_time(now), *coordinator_, evaluations_);
  }
}

void Server::hand_over_weights() {
  if (shard_ && callbacks_.trained) {
    callbacks_.trained(
        *manifest_, shard_->weights(), coordinator_ ? coordinator_->version() : Version{0});
  }
}

void Server::await_evaluations() {
  // A run that is interrupted may be killed within the minute.
  const bool interrupted = static_cast<int>(finish_->code) > 128;
  const Duration patience = std::chrono::seconds(interrupted ? 10 : 60);
  // A worker's question comes at the end of its script's loop.
  constexpr Duration kToAsk = std::chrono::seconds(5);
  const Time ended = now();
  Time deadline{};
  strand_.run([this] { send_last_snapshot(); });
  for (bool waits = true; waits;) {
    strand_.run([&] {
      const bool began = coordinator_ && coordinator_->started();
      const bool may_ask = options_.starts_evaluator && !evaluator_asked_ && !asks_no_more_ &&
                           finish_->code == ExitCode::kDone;
      const bool measures = evaluator_ ? evaluations_.waiting() > 0 : evaluator_comes_;
      const bool asks = !evaluator_ && !measures && may_ask;
      deadline = std::max(ended, evaluator_asked_at_) + (asks ? kToAsk : patience);
      waits = began && (measures || asks) && !hurries_ && now() < deadline;
      if (began && measures && !waits) {
        warn(hurries_ ? "the last weights are not measured"
                      : "the evaluator has not measured the last weights in " +
                            std::to_string(static_cast<int>(to_seconds(patience))) +
                            " s: their accuracy is unknown");
      }
    });
    if (waits) {
      strand_.wait_until(to_steady(deadline));
    }
  }
  strand_.run([this] {
    evaluator_.reset();
    next_evaluators_.clear();
    for (const auto& [connection, peer] : peers_) {
      if (peer.role == Role::kEvaluator) {
        dismiss(connection, protocol::Farewell::kFinished, "");
      }
    }
  });
}

void Server::send_last_snapshot() {
  if (!coordinator_ || !coordinator_->started() || !evaluator_) {
    return;
  }
  const bool known =
      !evaluations_.all().empty() && evaluations_.all().back().version == coordinator_->version();
  if (!known && evaluations_.newest_sent() != coordinator_->version()) {
    const server::Statistics& statistics = coordinator_->statistics();
    evaluations_.sent_last(
        coordinator_->version(), statistics.last_commit, statistics.examples_applied);
    send_weights(coordinator_->version());
  }
}

void Server::close_the_run() {
  over_ = true;
  callbacks_ = {};
  for (const auto& [connection, peer] : peers_) {
    if (peer.role == Role::kWorker) {  // It came, and never joined.
      say_that_it_is_over(connection);
    }
  }
}

void Server::take_late(const Post& post) {
  const auto* from = std::get_if<FromConnection>(&post);
  if (from == nullptr) {
    return;
  }
  if (std::holds_alternative<wire::Closed>(from->event)) {
    peers_.erase(from->connection);
    return;
  }
  const auto& message = std::get<wire::Received>(from->event).message;
  if (std::holds_alternative<protocol::Hello>(message) ||
      std::holds_alternative<protocol::Observe>(message)) {
    say_that_it_is_over(from->connection);
  } else if (std::holds_alternative<protocol::SetPolicy>(message) ||
             std::holds_alternative<protocol::SlowDown>(message) ||
             std::holds_alternative<protocol::AskStatus>(message) ||
             std::holds_alternative<protocol::AskEvaluator>(message) ||
             std::holds_alternative<protocol::EndRun>(message)) {
    answer(from->connection, ExitCode::kFailure, "the run is over: " + finish_->why);
  } else if (const auto* ask = std::get_if<protocol::AskEvaluated>(&message)) {
    tell_evaluated(now(), from->connection, *ask);
  }
}

void Server::say_that_it_is_over(wire::ConnectionId to) {
  if (finish_->code == ExitCode::kWouldBeginAnew) {  // Workers wait for the run that goes on.
    if (const auto peer = peers_.find(to); peer != peers_.end()) {
      peer->second.role = Role::kSentAway;
    }
    transport_->close(to);
    return;
  }
  const bool done = finish_->code == ExitCode::kDone;
  dismiss(to,
          done ? protocol::Farewell::kFinished : protocol::Farewell::kFailed,
          "the run is over: " + finish_->why);
}

RunResult Server::result() const {
  RunResult result{.code = finish_->code,
                   .why = finish_->why,
                   .statistics = {},
                   .evaluations = evaluations_.all(),
                   .reached_target = evaluations_.reached(),
                   .script = script_.value_or(protocol::Script{}),
                   .manifest = manifest_.value_or(protocol::Manifest{}),
                   .weights = {}};
  if (coordinator_) {
    result.statistics = coordinator_->statistics();
    result.statistics.clipped = shard_->clipped();
  }
  if (shard_) {
    result.weights.assign(shard_->weights().begin(), shard_->weights().end());
  }
  return result;
}

}  // namespace outpace::live
