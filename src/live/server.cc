#include "live/server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "live/transports.h"
#include "policy/catalogue.h"
#include "server/reception.h"

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

Server::Server(ServerOptions options, Watch watch)
    : options_(std::move(options)),
      watch_(std::move(watch)),
      evaluations_(options_.target),
      strand_([this](Post post) { take(std::move(post)); }) {
  // What can be wrong in the options shows before anybody connects.
  (void)policy::make_policy(options_.policy, options_.coordinator.workers, options_.given);
  phases_ = policy::phases_of(options_.policy);
  policy_ = phases_.front().policy.text;
  server::check(options_.shard);
  manifest_ = options_.manifest;
  if (manifest_) {
    shard_.emplace(options_.shard, std::move(options_.weights), manifest_->sizes());
  }
  transport_ = serve({.address = options_.listen, .token = options_.token},
                     [this](ConnectionId connection, ConnectionEvent event) {
                       strand_.post(FromConnection{connection, std::move(event)});
                     });
}

Server::~Server() = default;

RunResult Server::run() {
  opened_ = now();
  strand_.open();
  for (bool over = false; !over;) {
    Time next{};
    strand_.run([&] {
      if (!finish_) {
        tick(now());
      }
      over = finish_.has_value();
      next = wake_at_ = std::min(next_tick(), now() + kStatusPeriod);
    });
    if (!over) {
      strand_.wait_until(to_steady(next));
    }
  }
  await_evaluations();
  strand_.close();
  return result();
}

void Server::stop(ExitCode code, const std::string& why) {
  strand_.post(StopAsked{code, why});
}

void Server::nobody_will_join() {
  strand_.post(NobodyWillJoin{});
}

Time Server::now() const {
  return to_time(steady_clock::now());
}

// ---- What came in -------------------------------------------------------------------------------

void Server::take(Post post) {
  handle(now(), std::move(post));
  if (!finish_) {
    tick(now());
  }
  if (finish_ || next_tick() < wake_at_) {
    strand_.wake();
  }
}

void Server::handle(Time now, Post post) {
  if (auto* from = std::get_if<FromConnection>(&post)) {
    if (auto* received = std::get_if<Received>(&from->event)) {
      receive(now, from->connection, std::move(*received));
    } else {
      closed(now, from->connection, std::get<Closed>(from->event));
    }
    return;
  }
  if (finish_) {
    return;
  }
  server::Effects effects;
  if (const auto* asked = std::get_if<StopAsked>(&post)) {
    if (coordinator_) {
      coordinator_->finish(now, asked->code, asked->why, effects);
    } else {
      finish_ = {asked->code, asked->why};
    }
  } else if (coordinator_) {
    coordinator_->nobody_will_join(now, effects);
  } else {
    finish_ = {ExitCode::kTooFewWorkers, "too few workers: all ended before they joined"};
  }
  carry_out(now, effects);
}

void Server::receive(Time now, ConnectionId from, Received received) {
  Peer& peer = peers_[from];
  protocol::Message& message = received.message;
  if (peer.role == Role::kUnknown) {
    if (const auto* hello = std::get_if<protocol::Hello>(&message)) {
      greet_worker(from, *hello);
      join_waiting(now);
    } else if (const auto* observe = std::get_if<protocol::Observe>(&message)) {
      greet_evaluator(from, *observe);
      join_waiting(now);
    } else if (const auto* set = std::get_if<protocol::SetPolicy>(&message)) {
      set_policy(now, from, *set);
    } else if (const auto* ask = std::get_if<protocol::AskStatus>(&message)) {
      tell_status(now, from, ask->protocol);
    } else {
      dismiss(from, protocol::Farewell::kIncompatible, "the first message must be a hello");
    }
    return;
  }
  if (peer.role == Role::kEvaluator) {
    if (const auto* measurement = std::get_if<protocol::Measurement>(&message)) {
      take_measurement(now, *measurement);
    }
    return;
  }
  server::Effects effects;
  if (const auto* push = std::get_if<protocol::Push>(&message)) {
    take_push(now, peer, *push, std::move(received.payload));
  } else if (std::holds_alternative<protocol::InitialWeights>(message)) {
    take_initial_weights(now, from, std::move(received.payload));
  } else if (!coordinator_ || !peer.joined) {
    return;  // Heartbeats while the job gathers.
  } else if (const auto* abandoned = std::get_if<protocol::Abandoned>(&message)) {
    coordinator_->abandon(now, abandoned->id, effects);
  } else if (std::holds_alternative<protocol::Heartbeat>(message)) {
    coordinator_->heard(now, peer.worker, peer.incarnation);
  } else if (std::holds_alternative<protocol::Goodbye>(message)) {
    coordinator_->leave(now, peer.worker, peer.incarnation, policy::Departure::kLeft, effects);
  }
  carry_out(now, effects);
}

void Server::take_push(Time now,
                       const Peer& peer,
                       const protocol::Push& push,
                       std::vector<float> gradient) {
  const bool own = push.id.worker == peer.worker && push.id.incarnation == peer.incarnation;
  if (!coordinator_ || !peer.joined || !own || gradient.size() != manifest_->numbers()) {
    return;  // From before a restart, or meant for another job: as if it had never come.
  }
  const update::Judgement judgement =
      server::receive(*shard_, *coordinator_, push, std::move(gradient));
  server::Effects effects;
  coordinator_->push(now, push, judgement, effects);
  carry_out(now, effects);
}

void Server::take_measurement(Time now, const protocol::Measurement& measurement) {
  const auto evaluation = evaluations_.measured(measurement);
  if (!evaluation || !coordinator_) {
    return;
  }
  if (watch_.evaluated) {
    watch_.evaluated(*evaluation);
  }
  server::Effects effects;
  coordinator_->measured(
      now, {policy::Measure::kTestAccuracy, evaluation->accuracy, evaluation->version}, effects);
  coordinator_->measured(
      now, {policy::Measure::kTestLoss, evaluation->loss, evaluation->version}, effects);
  if (evaluations_.ends_run() && !coordinator_->finished()) {
    coordinator_->finish(now, ExitCode::kDone, "target accuracy reached", effects);
  }
  carry_out(now, effects);
}

void Server::closed(Time now, ConnectionId from, const Closed& closed) {
  const auto found = peers_.find(from);
  if (found == peers_.end()) {
    return;
  }
  const Peer peer = std::move(found->second);
  peers_.erase(found);
  if (evaluator_ == from) {
    evaluator_.reset();
    evaluations_.lost();
  }
  if (peer.role != Role::kWorker || !peer.joined || !coordinator_) {
    return;
  }
  server::Effects effects;
  if (connection_of_[index(peer.worker)] == from) {
    connection_of_[index(peer.worker)].reset();
    if (!coordinator_->finished() && watch_.warned) {
      watch_.warned(name(peer.worker) + " is gone: " + closed.why);
    }
    coordinator_->leave(now, peer.worker, peer.incarnation, policy::Departure::kDead, effects);
  }
  carry_out(now, effects);
}

void Server::dismiss(ConnectionId connection, protocol::Farewell how, const std::string& why) {
  transport_->send(connection, protocol::Stop{how, why}, nullptr);
  transport_->close(connection);
  if (watch_.warned && how == protocol::Farewell::kIncompatible) {
    watch_.warned("refused a connection: " + why);
  }
}

// ---- What goes out ------------------------------------------------------------------------------

void Server::carry_out(Time now, server::Effects& effects) {
  find_last_sends(effects);
  std::vector<std::pair<Version, server::GradientNorms>> measured;  // Told after the effects.
  for (std::size_t i = 0; i < effects.size(); ++i) {
    server::Effect& effect = effects[i];
    if (const auto* taken = std::get_if<server::TakeUp>(&effect)) {
      shard_->take_up(*taken);
    } else if (const auto* forgotten = std::get_if<server::Forget>(&effect)) {
      shard_->forget(forgotten->worker);
    } else if (const auto* gone = std::get_if<server::ForgetWorker>(&effect)) {
      shard_->forget_worker(gone->worker);
    } else if (const auto* step = std::get_if<server::StepWeights>(&effect)) {
      shard_->step(*step);
      if (step->norms_for) {
        measured.emplace_back(*step->norms_for, shard_->norms());
      }
    } else if (const auto* sent = std::get_if<server::Send>(&effect)) {
      send(*sent, last_send_[index(sent->worker)] == i ? More::kNone : More::kAtOnce);
    } else if (const auto* dismissed = std::get_if<server::Disconnect>(&effect)) {
      disconnect(*dismissed);
    } else if (const auto* snapshot = std::get_if<server::TakeSnapshot>(&effect)) {
      send_snapshot(snapshot->version, coordinator_->run_time(now), snapshot->examples);
    } else if (const auto* warning = std::get_if<server::Warn>(&effect)) {
      if (watch_.warned) {
        watch_.warned(warning->text);
      }
    } else if (const auto* seam = std::get_if<server::Switched>(&effect)) {
      policy_switched(*seam);
    } else {
      finish_ = std::get<server::Finish>(effect);
      give_up_asked(finish_->why);
    }
  }
  for (const auto& [version, norms] : measured) {
    server::Effects next;
    coordinator_->measured_norms(now, version, norms, next);
    carry_out(now, next);
  }
}

void Server::find_last_sends(const server::Effects& effects) {
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (const auto* sent = std::get_if<server::Send>(&effects[i])) {
      const std::size_t worker = index(sent->worker);
      last_send_.resize(std::max(last_send_.size(), worker + 1));
      last_send_[worker] = i;
    }
  }
}

void Server::send(const server::Send& send, More more) {
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
    transport_->send(*evaluator_, protocol::Snapshot{version}, shard_->snapshot());
  } else if (!std::exchange(warned_of_skipping_, true) && watch_.warned) {
    watch_.warned("the evaluator is behind; some snapshots are skipped: raise --evaluate-every");
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
  return coordinator_ ? coordinator_->next_deadline() : opened_ + options_.coordinator.patience;
}

void Server::tick(Time now) {
  if (!coordinator_) {
    if (now >= next_tick()) {
      finish_ = {ExitCode::kTooFewWorkers, "too few workers: none has come"};
    }
    return;
  }
  if (now >= coordinator_->next_deadline()) {
    server::Effects effects;
    coordinator_->tick(now, effects);
    carry_out(now, effects);
  }
  if (coordinator_->started() && now - last_status_ >= kStatusPeriod && watch_.status) {
    last_status_ = now;
    watch_.status(coordinator_->run_time(now), *coordinator_, evaluations_);
  }
}

void Server::await_evaluations() {
  constexpr Duration kPatience = std::chrono::seconds(60);
  const Time deadline = now() + kPatience;
  strand_.run([this] {
    if (!coordinator_ || !coordinator_->started() || !evaluator_) {
      return;
    }
    if (evaluations_.newest_sent() != coordinator_->version()) {
      const server::Statistics& statistics = coordinator_->statistics();
      send_snapshot(coordinator_->version(), statistics.last_commit, statistics.examples_applied);
    }
  });
  for (bool waits = true; waits;) {
    strand_.run([&] { waits = evaluator_ && evaluations_.waiting() > 0 && now() < deadline; });
    if (waits) {
      strand_.wait_until(to_steady(deadline));
    }
  }
  strand_.run([this] {
    if (evaluator_) {
      dismiss(*evaluator_, protocol::Farewell::kFinished, "");
    }
  });
}

RunResult Server::result() const {
  RunResult result{.code = finish_->code,
                   .why = finish_->why,
                   .statistics = {},
                   .evaluations = evaluations_.all(),
                   .reached_target = evaluations_.reached(),
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
