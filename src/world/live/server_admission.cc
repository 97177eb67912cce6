// How workers and the evaluator come to take part: they are greeted, fit the job or are sent away,
// and join once there are weights. What they offered is forgotten with them until the run starts.
// Tested by src/world/live/worker_test.cc.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "live/server.h"
#include "policy/catalogue.h"

namespace outpace::live {

void Server::greet_worker(Time now, wire::ConnectionId from, const protocol::Hello& hello) {
  if (finish_) {
    say_that_it_is_over(from);
    return;
  }
  if (const std::string why = unfit(hello); !why.empty()) {
    dismiss(from, protocol::Farewell::kIncompatible, why);
    return;
  }
  if (!clear_rank(now, from, hello)) {
    return;
  }
  if (!look_back(hello)) {
    return;
  }
  manifest_ = hello.manifest;
  examples_ = hello.dataset_examples;
  if (!script_) {
    take_script(hello.script);
  }
  const std::uint32_t incarnation = ++incarnations_[hello.worker];
  peers_[from] = {.role = Role::kWorker,
                  .worker = hello.worker,
                  .incarnation = incarnation,
                  .hello = hello,
                  .last_heard = now,
                  .joined = false};
  peers_[from].hello.manifest = {};
  peers_[from].hello.script = {};
  transport_->authorise(from, manifest_->numbers());
  welcome(from, incarnation);
  if (hello.wants_evaluator) {
    ask_for_evaluator(now);
  }
}

std::string Server::unfit(const protocol::Hello& hello) const {
  if (std::string why = incompatible(hello.protocol, hello.manifest); !why.empty()) {
    return why;
  }
  if (examples_ != 0 && hello.dataset_examples != examples_) {
    return "this worker's data set has " + std::to_string(hello.dataset_examples) +
           " examples, the job's has " + std::to_string(examples_);
  }
  if (index(hello.worker) >= options_.coordinator.workers) {
    return name(hello.worker) + " is out of range: this job " +
           (options_.coordinator.later > 0 ? "is full at --max-workers " : "has --workers ") +
           std::to_string(options_.coordinator.workers) + ", so --worker takes 0 to " +
           std::to_string(options_.coordinator.workers - 1);
  }
  if (const std::string why = cannot_step_locally(hello); !why.empty()) {
    return why;
  }
  return unfit(hello.script);
}

std::string Server::cannot_step_locally(const protocol::Hello& hello) const {
  if (!options_.coordinator.local_steps) {
    return "";
  }
  if (!hello.steps_locally) {
    return "this job has --local-steps, and this worker pushes each mini-batch; start the server "
           "without --local-steps";
  }
  if (!hello.script.groups.empty()) {
    return "this job has --local-steps, and this network has running statistics, which workers "
           "would have to average at each step; start the server without --local-steps";
  }
  return "";
}

bool Server::clear_rank(Time now, wire::ConnectionId from, const protocol::Hello& newcomer) {
  const auto held = std::ranges::find_if(peers_, [&](const auto& peer) {
    return peer.second.role == Role::kWorker && peer.second.worker == newcomer.worker;
  });
  if (held == peers_.end()) {
    return true;
  }
  const Peer& holder = held->second;
  if (holder.hello.process == newcomer.process) {
    dismiss(held->first, protocol::Farewell::kFenced, "this process has connected anew");
    return true;
  }
  // The coordinator judges the silence of those that have joined.
  if (!holder.joined && now - holder.last_heard >= options_.coordinator.heartbeat_timeout) {
    dismiss(held->first, protocol::Farewell::kPresumedDead, "silent for too long");
    return true;
  }
  if (transport_->hung_up(held->first)) {  // A process that follows another at once.
    const wire::ConnectionId ended = held->first;
    transport_->close(ended);
    closed(now, ended, {.why = "end of stream"});
    peers_[ended].role = Role::kSentAway;  // What it sent before may still come.
    return true;
  }
  const std::string why = name(newcomer.worker) + " is alive at " + holder.hello.host;
  dismiss(from,
          protocol::Farewell::kFenced,
          why + "; end that process first, or take another --worker");
  if (callbacks_.warned) {
    callbacks_.warned("refused a process at " + newcomer.host + ": " + why);
  }
  return false;
}

void Server::welcome(wire::ConnectionId worker, std::uint32_t incarnation) {
  const std::optional<server::LocalSteps>& local = options_.coordinator.local_steps;
  transport_->send(worker,
                   protocol::Welcome{.job = options_.coordinator.job,
                                     .generation = options_.coordinator.generation,
                                     .needs_weights = asks_for_weights(peers_[worker].worker),
                                     .heartbeat = options_.coordinator.heartbeat_timeout / 5,
                                     .seed = options_.coordinator.seed,
                                     .with_replacement = options_.coordinator.with_replacement,
                                     .incarnation = incarnation,
                                     .inner_optimizer = local ? local->optimizer : "",
                                     .inner_weight_decay = local ? local->weight_decay : 0.0},
                   nullptr);
}

void Server::greet_evaluator(wire::ConnectionId from, const protocol::Observe& observe) {
  const std::string why = incompatible(observe.protocol, observe.manifest);
  if (!why.empty()) {
    dismiss(from, protocol::Farewell::kIncompatible, why);
    return;
  }
  peers_[from].role = Role::kEvaluator;
  manifest_ = observe.manifest;
  if (evaluator_) {
    next_evaluators_.push_back(from);
    warn("another evaluator has come: it waits in line until the present one is gone");
    return;
  }
  evaluator_ = from;
  evaluator_comes_ = false;
  if (finish_) {
    send_last_snapshot();
  }
}

void Server::replace_evaluator(const std::string& why) {
  evaluator_.reset();
  evaluations_.lost();
  if (next_evaluators_.empty()) {
    if (!finish_) {
      warn("the evaluator is gone: " + why +
           (options_.needs_evaluator ? "; the run's target or policy waits for another one"
                                     : "; nothing is measured until another one comes"));
    }
    return;
  }
  evaluator_ = next_evaluators_.front();
  next_evaluators_.pop_front();
  warn("the evaluator is gone: " + why + "; the next one in line takes over");
  if (finish_) {
    send_last_snapshot();
  }
}

void Server::start_without_evaluator(Time now) {
  const bool workers_wait = shard_ && examples_ != 0;
  if (workers_wait && !options_.needs_evaluator) {
    warn("starting without the evaluator: it has not come in " +
         std::to_string(static_cast<int>(to_seconds(options_.coordinator.patience))) + " s");
    options_.expects_evaluator = false;
    join_waiting(now);
    return;
  }
  finish_ = {ExitCode::kTooFewWorkers,
             workers_wait ? "the evaluator has not come, and the run's target or policy needs one"
                          : "too few workers: none has come"};
}

std::string Server::wrong_protocol(std::uint32_t protocol) {
  return "protocol " + std::to_string(protocol) + " was offered, this server speaks " +
         std::to_string(protocol::kProtocolVersion);
}

std::string Server::incompatible(std::uint32_t protocol, const protocol::Manifest& other) const {
  if (protocol != protocol::kProtocolVersion) {
    return wrong_protocol(protocol);
  }
  if (manifest_ && other != *manifest_) {
    return "another network: " + protocol::first_difference(other, *manifest_);
  }
  return "";
}

bool Server::anybody_is(Role role) const {
  return std::ranges::any_of(peers_, [role](const auto& peer) { return peer.second.role == role; });
}

void Server::forget_offers_of(Time now, wire::ConnectionId gone) {
  if (finish_ || resumed_at_ || (coordinator_ && coordinator_->started())) {
    return;
  }
  const bool workers = anybody_is(Role::kWorker);
  if (!workers) {
    examples_ = 0;
    take_script(std::nullopt);
    manifest_ = anybody_is(Role::kEvaluator) ? manifest_ : options_.manifest;
  }
  const bool weights_left = weights_from_ && (weights_from_ == gone || !workers);
  if (workers && !weights_left) {
    return;
  }
  if (coordinator_) {  // Workers that joined it join the next one.
    coordinator_.reset();
    connection_of_.clear();
    gathers_since_ = now;
  }
  if (weights_left) {
    shard_.reset();
    constants_.clear();
    weights_from_.reset();
    awaits_rank_0_ = true;
    gathers_since_ = now;
  }
  for (auto& [connection, peer] : peers_) {
    peer.joined = false;
    if (weights_left && peer.role == Role::kWorker) {
      welcome(connection, peer.incarnation);
    }
  }
}

void Server::join_waiting(Time now) {
  if (!shard_ || examples_ == 0 || (options_.expects_evaluator && !evaluator_ && !coordinator_)) {
    return;
  }
  if (!coordinator_) {
    options_.coordinator.examples = examples_;
    coordinator_.emplace(coordinator_options(),
                         policy::make_settable_policy(
                             options_.policy, options_.coordinator.workers, options_.policy_inputs),
                         callbacks_.decided,
                         now);
  }
  server::Effects effects;
  for (auto& [connection, peer] : peers_) {
    if (peer.role == Role::kWorker && !peer.joined) {
      join(now, connection, peer, effects);
    }
  }
  carry_out(now, effects);
}

void Server::join(Time now, wire::ConnectionId connection, Peer& peer, server::Effects& effects) {
  if (finish_) {
    say_that_it_is_over(connection);
    return;
  }
  const std::size_t worker = index(peer.worker);
  if (connection_of_.size() <= worker) {
    connection_of_.resize(worker + 1);
  }
  connection_of_[worker] = connection;  // Before the join, whose effects go to the newcomer.
  if (peer.hello.seen_job != options_.coordinator.job) {
    send_constants(connection);
  }
  peer.joined = coordinator_->join(now,
                                   {.worker = peer.worker,
                                    .incarnation = peer.incarnation,
                                    .host = peer.hello.host,
                                    .ahead = peer.hello.ahead},
                                   effects);
  CHECK(peer.joined);  // Each greeting gives a newer incarnation.
}

}  // namespace outpace::live
