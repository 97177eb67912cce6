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

admission::Options admission_options(const ServerOptions& options) {
  return {
      .job = options.coordinator.job,
      .workers = options.coordinator.workers,
      .later = options.coordinator.later,
      .heartbeat_timeout = options.coordinator.heartbeat_timeout,
      .patience = options.coordinator.patience,
      .expects_evaluator = options.expects_evaluator,
      .needs_evaluator = options.needs_evaluator,
      .starts_evaluator = options.starts_evaluator,
      .begins_again = options.begins_again,
      .network = options.manifest,
      .has_weights = options.manifest.has_value() || options.above.has_value(),
      .shard = options.shard,
      .local_steps = options.coordinator.local_steps ? options.coordinator.local_steps->most : 0,
      .script_conflict = options.script.conflict,
      .seats_from = options.seats_from,
      .seated = options.keyring ? options.keyring->seats() : std::map<WorkerId, std::string>{}};
}

steady_clock::time_point to_steady(Time time) {
  return steady_clock::time_point(
      std::chrono::duration_cast<steady_clock::duration>(time.time_since_epoch()));
}

}  // namespace

Server::Server(ServerOptions options, ServerCallbacks callbacks)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      admission_(admission_options(options_)),
      guests_(guest_options(options_), admission_, guest_calls()),
      evaluations_(options_.target),
      policy_(options_.policy),
      strand_([this](Post post) { take(std::move(post)); }, [this] { rest(); }) {
  // What can be wrong in the options shows before anybody connects.
  (void)policy::make_policy(options_.policy, options_.coordinator.workers, options_.policy_inputs);
  server::check(options_.shard);
  if (options_.manifest) {
    shard_.emplace(options_.shard, std::move(options_.weights), options_.manifest->sizes());
  }
  if (options_.resumed) {
    keep(now(), *options_.resumed);
    options_.resumed.reset();
  }
  const auto warned = [this](const std::string& text) { strand_.post(TransportWarned{text}); };
  transport_ =
      wire::serve({.address = options_.listen,
                   .token = options_.token,
                   .beyond = options_.listen_beyond,
                   .tls = options_.tls,
                   .passes = options_.keyring,
                   .refused = warned,
                   .warned = warned,
                   .keep_alive = std::max(wire::kKeepAlive, options_.coordinator.heartbeat_timeout),
                   .reach = options_.reach,
                   .pack_weights = options_.compress_weights},
                  [this](wire::ConnectionId connection, wire::ConnectionEvent event) {
                    strand_.post(FromConnection{connection, std::move(event)});
                  });
  if (options_.above) {
    options_.coordinator.fed = true;
    above_ = std::make_unique<Above>(
        *options_.above, [this](Above::News news) { strand_.post(FromAbove{std::move(news)}); });
  }
}

Server::~Server() = default;

RunResult Server::run() {
  admission_.listens(now(), transport_->address());
  tell_constants();  // Constants of the run that goes on.
  strand_.open();
  for (bool over = false; !over;) {
    Time next{};
    strand_.run([&] {  // The loop rests here.
      over = admission_.end().has_value();
      next = wake_at_ = std::min(next_tick(), now() + kStatusPeriod);
    });
    if (!over) {
      strand_.wait_until(to_steady(next));
    }
  }
  strand_.run([this] {
    end_guests(now());
    hand_over_weights();
  });
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
  news_ = true;
  handle(now(), std::move(post));
}

// What has arrived counts before what is due: else a policy's deadline would cut off gradients that
// wait here to be handled, or in their sockets to be read.
void Server::rest() {
  if (over_) {
    return;
  }
  const Time now = this->now();
  if (above_) {
    look_above(now);
  }
  if (!admission_.end() &&
      !put_off_.puts_off(now, due(), [this] { return transport_->has_unread(); })) {
    tick(now);
  }
  // Once run() knows of the end it looks again only at news: its own looks rest here too, and if
  // each called for another, it would take a whole core from who measures the last weights.
  const bool news = std::exchange(news_, false);
  if (admission_.end() ? news || !knows_end_ : next_tick() < wake_at_) {
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
                        [&](const EvaluatorFailed&) { admission_.evaluator_failed(); },
                        [&](const NobodyWillAsk&) { admission_.nobody_will_ask(); },
                        [&](const TransportWarned& warning) { warn(warning.text); },
                        [&](FromAbove& from) { hear_above(now, std::move(from.news)); }},
             post);
}

void Server::stop_asked(Time now, const StopAsked& asked) {
  to_admission(now, [&](auto& out) { admission_.stop(asked.code, asked.why, out); });
  if (coordinator_ && !admission_.end()) {
    to_coordinator(now, [&](auto& out) { coordinator_->finish(now, asked.code, asked.why, out); });
  }
}

void Server::nobody_joins(Time now) {
  to_admission(now, [&](auto& out) { admission_.nobody_will_join(out); });
  if (coordinator_ && !admission_.end()) {
    to_coordinator(now, [&](auto& out) { coordinator_->nobody_will_join(now, out); });
  }
}

void Server::closed(Time now, wire::ConnectionId from, const wire::Closed& closed) {
  brought_.erase(from);
  has_constants_.erase(from);
  guests_.gone(from);
  waiting_.erase(from);
  if (asked_for_weights_ == from) {
    asked_for_weights_.reset();
  }
  to_admission(now, [&](auto& out) { admission_.closed(from, closed.why, out); });
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
                 [&](const server::HandIn& handed) { hand_in(now, handed); },
                 Ignoring<server::Stalled>{},  // Statistics and a warning say so.
                 [&](const server::LeaveOut& left_out) {
                   if (above_) {  // It goes back, and is left out there if nobody computes it.
                     note_left_out(left_out);
                     return;
                   }
                   tell_left_out(left_out, coordinator_->options(), callbacks_.left_out);
                 },
                 [&](const server::Warn& warning) { warn(warning.text); },
                 [&](const server::Finish& finish) {
                   if (finish.code != ExitCode::kDone) {  // It may be gone on with.
                     take_checkpoint(now);
                   }
                   admission_.ended(finish);
                   give_up_asked(finish.why);
                 }});
  for (const server::MeasuredNorms& norms : measured) {
    to_coordinator(now, [&](auto& out) {
      coordinator_->measured_norms(now, norms.version, norms.norms, out);
    });
  }
}

void Server::tell_begin() {
  if (!begun()) {
    return;
  }
  admission_.began();
  if (callbacks_.begins) {
    callbacks_.begins(*admission_.terms().network);
    callbacks_.begins = nullptr;
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
  const auto connection = admission_.member(send.worker);
  if (!connection) {
    return;
  }
  if (above_ && hold_verdict(*connection, send)) {
    return;
  }
  const bool released = std::holds_alternative<protocol::Release>(send.message);
  const auto message =
      std::visit([](const auto& told) { return protocol::Message(told); }, send.message);
  transport_->send(*connection, message, released ? shard_->release(send.worker) : nullptr, more);
}

void Server::send_snapshot(Version version, Time committed, std::uint64_t examples) {
  if (!admission_.evaluator()) {
    return;
  }
  if (evaluations_.sent(version, committed, examples)) {
    send_weights(version);
  } else if (!std::exchange(warned_of_skipping_, true)) {
    warn("the evaluator is behind; some snapshots are skipped: raise --evaluate-every");
  }
}

void Server::disconnect(const server::Disconnect& disconnect) {
  if (const auto refused = admission_.dismiss(disconnect.worker, disconnect.stop)) {
    refuse(*refused);
  }
}

Time Server::next_tick() const {
  return put_off_.again(due());
}

Time Server::due() const {
  const Time due = coordinator_ ? coordinator_->next_deadline() : Time::max();
  return std::min(due, admission_.next_deadline());
}

void Server::tick(Time now) {
  if (now >= admission_.next_deadline()) {
    to_admission(now, [&](auto& out) { admission_.tick(now, out); });
  }
  if (!coordinator_) {
    return;
  }
  if (now >= coordinator_->next_deadline()) {
    to_coordinator(now, [&](auto& out) { coordinator_->tick(now, out); });
  }
  look_at_weights(now);
  tell_guests(now);
  if (coordinator_->started() && now - last_status_ >= kStatusPeriod && callbacks_.status) {
    last_status_ = now;
    coordinator_->carried(transport_->traffic());
    callbacks_.status(coordinator_->run_time(now), *coordinator_, evaluations_);
  }
}

void Server::hand_over_weights() {
  if (shard_ && callbacks_.trained) {
    callbacks_.trained(*admission_.terms().network, shard_->weights(), version());
  }
}

void Server::await_evaluations() {
  strand_.run([this] {
    knows_end_ = true;
    to_admission(now(), [&](auto& out) { admission_.trained(now(), out); });
  });
  for (std::optional<Time> until = now(); until;) {
    strand_.run([&] {
      admission::Effects effects;
      until = admission_.waits_until(now(), evaluations_.waiting() > 0, effects);
      admit(now(), std::move(effects));
    });
    if (until) {
      strand_.wait_until(to_steady(*until));
    }
  }
}

void Server::send_last_snapshot() {
  if (!begun() || !admission_.evaluator()) {
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
  to_admission(now(), [&](auto& out) { admission_.close(out); });
}

void Server::take_late(const Post& post) {
  const auto* from = std::get_if<FromConnection>(&post);
  if (from == nullptr) {
    return;
  }
  if (const auto* why = std::get_if<wire::Closed>(&from->event)) {
    closed(now(), from->connection, *why);
    return;
  }
  const auto& message = std::get<wire::Received>(from->event).message;
  if (const auto* worker = std::get_if<protocol::Hello>(&message)) {
    greet(now(), from->connection, *worker);
  } else if (const auto* evaluator = std::get_if<protocol::Observe>(&message)) {
    observe(now(), from->connection, *evaluator);
  } else if (std::holds_alternative<protocol::SetPolicy>(message) ||
             std::holds_alternative<protocol::SlowDown>(message) ||
             std::holds_alternative<protocol::AskStatus>(message) ||
             std::holds_alternative<protocol::AskEvaluator>(message) ||
             std::holds_alternative<protocol::EndRun>(message) ||
             std::holds_alternative<protocol::AskSeats>(message) ||
             std::holds_alternative<protocol::Expel>(message) ||
             std::holds_alternative<protocol::AskCode>(message)) {
    answer(from->connection, ExitCode::kFailure, "the run is over: " + admission_.end()->why);
  } else if (const auto* ask = std::get_if<protocol::AskEvaluated>(&message)) {
    tell_evaluated(now(), from->connection, *ask);
  }
}

RunResult Server::result() {
  const admission::Terms& terms = admission_.terms();
  RunResult result{.code = admission_.end()->code,
                   .why = admission_.end()->why,
                   .statistics = {},
                   .evaluations = evaluations_.all(),
                   .reached_target = evaluations_.reached(),
                   .ended_by_script = ended_by_script_,
                   .script = terms.script.value_or(protocol::Script{}),
                   .manifest = terms.network.value_or(protocol::Manifest{}),
                   .weights = {}};
  if (coordinator_) {
    coordinator_->carried(transport_->traffic());
    result.statistics = coordinator_->statistics();
    result.statistics.clipped = shard_->clipped();
  }
  if (shard_) {
    result.weights.assign(shard_->weights().begin(), shard_->weights().end());
  }
  return result;
}

}  // namespace outpace::live
