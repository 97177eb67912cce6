// The host's other half: what it does with what workers report, and how a run ends.
// Tested by src/world/collective/host_test.cc.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "collective/host.h"
#include "collective/replicas.h"
#include "peer/batch_plan.h"

namespace outpace::collective {
namespace {

constexpr const char* kEpochsDone = "epochs done";

std::vector<std::vector<float>> values_of(const std::map<WorkerId, std::vector<float>>& weights) {
  std::vector<std::vector<float>> values;
  values.reserve(weights.size());
  for (const auto& [worker, value] : weights) {
    values.push_back(value);
  }
  return values;
}

}  // namespace

void Host::take_report(Time now, const protocol::Push& report, const Reported& told) {
  if (phase_ != Phase::kRunning && phase_ != Phase::kStopping) {
    return;
  }
  links_are_whole(now);
  tally_->gradient(run_time(now), report, told);
  if (callbacks_.reported) {
    callbacks_.reported(run_time(now), report, told.runtime, *tally_);
  }
  const std::uint64_t examples = tally_->statistics().examples_applied;
  if (options_.topology == Topology::kGossip && phase_ == Phase::kRunning &&
      examples >= next_snapshot_) {
    next_snapshot_ = peer::next_snapshot(examples, options_.evaluate_every);
    gathering_[tally_->version()] = {.asked = run_time(now), .examples = examples, .weights = {}};
    ask_for_weights(tally_->version());
  }
}

void Host::take_weights(Time now, WorkerId worker, Version version, std::vector<float> weights) {
  if (weights.size() != admission_.terms().network->numbers()) {
    give_up(ExitCode::kIncompatible, name(worker) + " brought weights of another size");
    return;
  }
  if (phase_ == Phase::kCollecting) {
    if (version == tally_->version()) {
      last_weights_[worker] = std::move(weights);
    }
    return;
  }
  if (options_.topology == Topology::kRing && phase_ < Phase::kCollecting) {
    weights_ = std::move(weights);  // By itself, of a version that is due.
    evaluate(version, run_time(now), tally_->statistics().examples_applied);
    return;
  }
  const auto found = gathering_.find(version);
  if (found == gathering_.end() || phase_ != Phase::kRunning) {
    return;
  }
  found->second.weights[worker] = std::move(weights);
  evaluate_gathered();
}

std::vector<float> Host::of_run(const std::map<WorkerId, std::vector<float>>& weights) const {
  return options_.centre ? weights.begin()->second : mean_of(values_of(weights));
}

// Evaluates the newest version for which all live workers have brought their weights.
void Host::evaluate_gathered() {
  if (phase_ != Phase::kRunning || peers_.empty()) {
    return;
  }
  const auto complete = std::find_if(gathering_.rbegin(), gathering_.rend(), [&](const auto& one) {
    return one.second.weights.size() == peers_.size();
  });
  if (complete == gathering_.rend()) {
    return;
  }
  const Gathered& gathered = complete->second;
  weights_ = of_run(gathered.weights);
  evaluate(complete->first, gathered.asked, gathered.examples);
  gathering_.erase(gathering_.begin(), complete.base());
}

void Host::take_measurement(Time now, const protocol::Measurement& measurement) {
  const auto evaluation = evaluations_.measured(measurement);
  if (!evaluation) {
    if (phase_ == Phase::kEvaluating && measurement.accuracy) {
      replicas_.push_back(*measurement.accuracy);
    }
    return;
  }
  if (callbacks_.evaluated) {
    callbacks_.evaluated(*evaluation);
  }
  if (evaluations_.ends_run()) {
    end(now, ExitCode::kDone, "target accuracy reached");
  }
}

// A ring's weights are those of any of its workers.
void Host::ask_for_weights(Version version) {
  for (const auto& [connection, peer] : peers_) {
    if (options_.topology == Topology::kGossip || peer.worker == *awaited_.begin()) {
      transport_->send(connection, protocol::Snapshot{version}, nullptr);
    }
  }
}

void Host::evaluate(Version version, Time committed, std::uint64_t examples) {
  if (admission_.evaluator() && evaluations_.sent(version, committed, examples)) {
    send_to_evaluator(version, weights_);
  }
}

void Host::send_to_evaluator(Version version, const std::vector<float>& weights) {
  transport_->send(*admission_.evaluator(),
                   protocol::Snapshot{version},
                   std::make_shared<const std::vector<float>>(weights));
}

const char* Host::limit_reached(Time now) const {
  if (phase_ != Phase::kRunning) {
    return nullptr;
  }
  const server::Limits& limits = options_.limits;
  const server::Statistics& done = tally_->statistics();
  if (limits.updates > 0 && done.updates >= limits.updates) {
    return "updates done";
  }
  if (limits.iterations > 0 && done.gradients_applied >= limits.iterations) {
    return "iterations done";
  }
  if (limits.epochs > 0 && done.examples_applied >= limits.epochs * admission_.terms().examples) {
    return kEpochsDone;
  }
  if (limits.seconds > Duration{} && run_time(now) >= Time{limits.seconds}) {
    return "time is up";
  }
  return nullptr;
}

void Host::check_silence(Time now) {
  // A host that stood still itself has yet to hear what was said meanwhile.
  const bool stood_still = now - last_looked_ > options_.heartbeat_timeout / 2;
  last_looked_ = now;
  if (phase_ < Phase::kRunning || phase_ > Phase::kCollecting) {
    return;
  }
  std::vector<wire::ConnectionId> silent;
  for (auto& [connection, peer] : peers_) {
    if (stood_still) {
      peer.last_heard = now;
    } else if (now - peer.last_heard > options_.heartbeat_timeout) {
      silent.push_back(connection);
    }
  }
  for (const wire::ConnectionId connection : silent) {
    const std::string why =
        fmt::format("silent for {:g} s", to_seconds(options_.heartbeat_timeout));
    admission::Effects effects;
    admission_.refuse(
        connection,
        {protocol::Farewell::kPresumedDead, "the run goes on without this worker: it was " + why},
        effects);
    lose(now, connection, why);
    admit(now, std::move(effects));
  }
}

void Host::end(Time now, ExitCode code, const std::string& why) {
  if (phase_ != Phase::kRunning) {
    return;
  }
  code_ = code;
  why_ = why;
  phase_ = Phase::kStopping;
  deadline_ = now + (broken_since_ ? options_.patience_if_broken : options_.patience);
  for (const auto& [connection, peer] : peers_) {
    transport_->send(connection, protocol::Stop{protocol::Farewell::kFinished, why}, nullptr);
  }
}

void Host::give_up(ExitCode code, const std::string& why) {
  if (phase_ >= Phase::kEvaluating) {
    return;  // All there was to come has come.
  }
  code_ = code;
  why_ = why;
  phase_ = Phase::kOver;
}

void Host::go_on(Time now) {
  if (now >= deadline_) {
    miss_deadline();
    return;
  }
  const bool ring = options_.topology == Topology::kRing;
  const bool all_quiet =
      !too_few() && (formation_.formed() || !ring) &&
      std::ranges::all_of(peers_, [](const auto& peer) { return peer.second.quiet; });
  if (phase_ == Phase::kRunning && all_quiet) {
    end(now, ExitCode::kDone, kEpochsDone);  // Else a limit was found before.
  }
  if (phase_ == Phase::kStopping && all_quiet) {
    collect(now);
  }
  const std::size_t wanted = ring ? 1 : peers_.size();
  if (phase_ == Phase::kCollecting && last_weights_.size() >= wanted) {
    evaluate_last(now);
  }
  const bool measured = evaluations_.waiting() == 0 &&
                        (last_weights_.size() == 1 || replicas_.size() == last_weights_.size());
  const bool measures = admission_.evaluator() && tally_ && tally_->statistics().updates > 0;
  if (phase_ == Phase::kEvaluating && (measured || !measures)) {
    dismiss_all();
    phase_ = Phase::kOver;
  }
}

void Host::miss_deadline() {
  if (phase_ == Phase::kGathering) {
    give_up(ExitCode::kTooFewWorkers,
            "too few workers: " + std::to_string(peers_.size()) + " of " +
                std::to_string(options_.workers) + " have come" +
                (gone_.empty() ? "" : "; " + gone_));
  } else if (!gone_.empty()) {
    give_up(ExitCode::kTooFewWorkers,
            "too few workers: " + std::to_string(peers_.size()) + " of " +
                std::to_string(options_.workers) + " left, " + std::to_string(workers_needed()) +
                " needed; " + gone_);
  } else {
    give_up(ExitCode::kFailure,
            broken_since_ ? "the workers' connections to each other are broken, so they do not end"
                          : "the workers do not end");
  }
  dismiss_all();
  phase_ = Phase::kOver;
}

void Host::collect(Time now) {
  tally_->finish();
  phase_ = Phase::kCollecting;
  deadline_ = now + options_.patience;
  ask_for_weights(tally_->version());
}

void Host::evaluate_last(Time now) {
  const bool interrupted = static_cast<int>(code_) > 128;
  phase_ = Phase::kEvaluating;
  deadline_ = now + std::chrono::seconds(interrupted ? 10 : 60);
  weights_ = of_run(last_weights_);
  if (callbacks_.trained) {
    callbacks_.trained(*admission_.terms().network, weights_, tally_->version());
  }
  const server::Statistics& done = tally_->statistics();
  if (!admission_.evaluator() || done.updates == 0) {
    return;
  }
  if (evaluations_.newest_sent() != tally_->version()) {
    evaluations_.sent_last(tally_->version(), done.last_commit, done.examples_applied);
    send_to_evaluator(tally_->version(), weights_);
  }
  if (last_weights_.size() > 1) {
    for (const auto& [worker, weights] : last_weights_) {
      send_to_evaluator(tally_->version(), weights);
    }
  }
}

void Host::dismiss_all() {
  for (const auto& [connection, peer] : peers_) {
    transport_->close(connection);
  }
  if (const auto evaluator = admission_.evaluator()) {
    transport_->send(*evaluator, protocol::Stop{protocol::Farewell::kFinished, ""}, nullptr);
    transport_->close(*evaluator);
  }
}

HostResult Host::result() const {
  HostResult result{.code = code_,
                    .why = why_,
                    .statistics = {},
                    .evaluations = evaluations_.all(),
                    .reached_target = evaluations_.reached(),
                    .worst_replica = std::nullopt,
                    .manifest = admission_.terms().network.value_or(protocol::Manifest{}),
                    .weights = weights_};
  if (tally_) {
    result.statistics = tally_->statistics();
  }
  if (!replicas_.empty() && replicas_.size() == last_weights_.size()) {
    result.worst_replica = std::ranges::min(replicas_);
  }
  return result;
}

}  // namespace outpace::collective
