#include "sim/cluster.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/overloaded.h"
#include "base/prefetch.h"
#include "policy/catalogue.h"
#include "protocol/senders.h"
#include "server/driver.h"

namespace outpace::sim {
namespace {

Error too_long() {
  return usage_error(
      "the run would take more than 100 simulated years: look at the bandwidth, the payload, "
      "latencies and runtimes");
}

}  // namespace

Cluster::Cluster(const ClusterOptions& options,
                 Timing& timing,
                 Learning* learning,
                 Decided decided,
                 Warned warned)
    : options_(options),
      timing_(timing),
      learning_(learning),
      hearts_beat_(std::any_of(options.faults.begin(), options.faults.end(), takes_heartbeats)),
      at_once_(options.latency == Duration{} && options.links == nullptr && !hearts_beat_),
      warned_(std::move(warned)),
      decided_(std::move(decided)),
      network_(learning == nullptr ? protocol::Manifest{} : learning->gradients.manifest()),
      message_faults_(options.faults, options.coordinator.workers, options.coordinator.seed),
      evaluations_(options.target),
      packer_(make_packer()),
      workers_(options.coordinator.workers) {
  if (options_.links != nullptr) {
    transfers_.emplace(*options_.links, options_.coordinator.workers);
  }
  if (learning_ != nullptr) {
    make_shard();
    gradients_.emplace(learning_->gradients, options_.coordinator, options_.attacks);
  } else if (options_.noise_scale) {
    expected_norms_.emplace(*options_.noise_scale);
  }
  if (options_.steps_ahead) {
    CHECK(options_.overlap == nullptr && options_.coordinator.local_steps);
    ahead_.resize(workers_.size());
  }
  if (options_.overlap != nullptr) {
    CHECK(options_.links != nullptr && options_.faults.empty() && learning_ == nullptr);
    overlapped_.resize(workers_.size());
    for (const Overlap::Piece& piece : options_.overlap->pieces) {
      needed_after_.push_back(options_.overlap->before_forward(piece.layer));
    }
    for (const Overlap::Slice& slice : options_.overlap->slices) {
      ready_before_.push_back(options_.overlap->after_backward(slice.layer));
    }
  }
  coordinator_ = make_coordinator();
  admission_ = make_admission();
}

Cluster::~Cluster() = default;

ClusterResult Cluster::run() {
  schedule_beginning();
  while (!finish_) {
    if (queue_.empty()) {  // All are gone, and none comes back.
      if (transfers_ && transfers_->next()) {
        throw too_long();
      }
      coordinator_->nobody_will_join(now_, effects_);
      carry_out();
      CHECK(finish_);
      break;
    }
    const auto [time, id, event] = queue_.pop();
    now_ = time;
    if (now_ >= Time{kTooLate}) {
      throw too_long();
    }
    ++events_;
    digest_.add(static_cast<std::uint64_t>(time.time_since_epoch().count()));
    digest_.add(static_cast<std::uint64_t>(event.kind) << 32U | event.worker);
    prepare();
    handle(event);
    if (options_.observer != nullptr && !finish_ && !server_back_ &&
        options_.observer->after(now_, *coordinator_, shard_ ? &*shard_ : nullptr)) {
      coordinator_->finish(now_, ExitCode::kDone, "seen enough", effects_);
      carry_out();
    }
    if (transfers_) {
      schedule(transfers_due_, transfers_->next().value_or(Time::max()), Kind::kTransfers);
    }
  }
  if (options_.observer != nullptr) {
    greet_late();
  }
  return result();
}

// Joins, and the faults of workers.
void Cluster::schedule_beginning() {
  std::vector<bool> later(workers_.size(), false);
  for (const Fault& fault : options_.faults) {
    if (fault.kind == Fault::Kind::kJoin) {
      later[index(fault.worker)] = true;
    }
  }
  for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) {
    if (!later[worker]) {
      queue_.push(now_, {Kind::kJoin, worker, 0});
    }
  }
  for (std::size_t i = 0; i < options_.faults.size(); ++i) {
    const Fault& fault = options_.faults[i];
    if (fault.at != Fault::kNeverComes &&
        (befalls_worker(fault.kind) || fault.kind == Fault::Kind::kServer || greets(fault.kind))) {
      queue_.push(fault.at, {Kind::kFault, static_cast<std::uint32_t>(index(fault.worker)), i});
    }
  }
}

ClusterResult Cluster::result() {
  if (transfers_) {
    transfers_->end(now_);
  }
  fault_counts_.messages = message_faults_.counts();
  ClusterResult result{.code = finish_->code,
                       .why = finish_->why,
                       .statistics = {},
                       .evaluations = {},
                       .reached_target = evaluations_.reached(),
                       .weights = {},
                       .ended = coordinator_->started() ? coordinator_->run_time(now_) : Time{},
                       .events = events_,
                       .hash = digest_.value(),
                       .faults = fault_counts_};
  if (shard_) {
    if (evaluations_.newest_sent() != coordinator_->version()) {
      evaluate(coordinator_->version(), coordinator_->statistics().examples_applied);
    }
    for (const protocol::Measurement& found : measurements_) {
      (void)evaluations_.measured(found);
    }
    result.weights.assign(shard_->weights().begin(), shard_->weights().end());
  }
  if (packer_) {
    coordinator_->carried(packer_->traffic());
  }
  result.statistics = coordinator_->take_statistics();
  if (shard_) {
    result.statistics.clipped = shard_->clipped();
  }
  result.evaluations = evaluations_.all();
  return result;
}

void Cluster::prepare() const {
  const std::uint32_t soon = queue_.soon().worker;
  prefetch(workers_[soon]);
  coordinator_->prepare(WorkerId{soon}, WorkerId{queue_.next().worker});
}

void Cluster::handle(const Event& event) {
  if (server_back_) {
    return lose(event);
  }
  handle_now(event);
}

void Cluster::handle_now(const Event& event) {
  switch (event.kind) {
    case Kind::kJoin:
      return join(event.worker, event.number == 1);
    case Kind::kFinished:
      return push(event.worker);
    case Kind::kAtServer:
      return at_server(event.worker, event.number);
    case Kind::kServed:
      return serve(event.worker, event.number);
    case Kind::kAtWorker:
      return at_worker(event.worker, event.number);
    case Kind::kMeasured:
      return measured();
    case Kind::kNorms:
      return measured_norms();
    case Kind::kFault:
      return befall(options_.faults[event.number]);
    case Kind::kGone:
      return gone(event.number);
    case Kind::kDeadline:
      deadline_ = {};
      coordinator_->tick(now_, effects_);
      return carry_out();
    case Kind::kTransfers:
      transfers_due_ = {};
      return take_arrivals();
    case Kind::kHeartbeat:
      return beat(event.worker, event.number);
    case Kind::kServerBack:
      return server_back();
    case Kind::kPiece:
      return piece_arrived(event.worker, event.number);
    case Kind::kSlice:
      return slice_computed(event.worker);
  }
}

// ---- The server ---------------------------------------------------------------------------------

void Cluster::at_server(std::uint32_t worker, std::size_t slot) {
  if (options_.apply == Duration{} ||
      !std::holds_alternative<protocol::Push>(mail_[slot].message)) {
    return serve(worker, slot);
  }
  server_free_ = std::max(server_free_, now_) + options_.apply;
  perform({Operation::Kind::kApply, worker, 0, server_free_ - options_.apply, server_free_});
  queue_.push(server_free_, {Kind::kServed, worker, slot});
}

void Cluster::serve(std::uint32_t worker, std::size_t slot) {
  Mail mail = take_out(slot);
  std::visit(
      Overloaded{[&](const protocol::Push& push) { serve_push(push, std::move(mail.gradient)); },
                 [&](const protocol::Abandoned& abandoned) {
                   coordinator_->abandon(now_, abandoned, effects_);
                   carry_out(server::AbandonInput{abandoned.id});
                 },
                 [&](const protocol::Heartbeat&) {
                   coordinator_->heard(now_, WorkerId{worker}, mail.incarnation);
                   carry_out(server::HeartbeatInput{WorkerId{worker}, mail.incarnation});
                 },
                 // A simulated worker does not send the others.
                 protocol::IgnoringWorkers{},
                 protocol::IgnoringEvaluators{},
                 protocol::IgnoringServer{},
                 protocol::IgnoringCommands{}},
      mail.message);
}

void Cluster::serve_push(const protocol::Push& push, std::vector<float> gradient) {
  if (packer_) {
    packer_->received();
  }
  const update::Judgement judgement =
      shard_ ? server::receive(*shard_, *coordinator_, push, std::move(gradient))
             : update::Judgement::kSound;
  coordinator_->push(now_, push, judgement, effects_);
  carry_out(server::PushInput{.id = push.id,
                              .examples = push.examples,
                              .finite = judgement != update::Judgement::kNotFinite,
                              .filtered = update::is_filtered(judgement)});
}

void Cluster::carry_out_effects() {
  if (coordinator_->started()) {
    admission_->began();
  }
  if (expected_norms_) {
    for (const server::Effect& effect : effects_) {
      if (const auto norms = expected_norms_->see(effect)) {
        will_measure(*norms);
      }
    }
  }
  server::carry_out(
      effects_,
      shard_ ? &*shard_ : nullptr,
      Overloaded{[this](server::Send& sent) { send(sent); },
                 [this](const server::Disconnect& disconnected) {
                   // The simulated connection of a worker ends with the run, or with the worker.
                   const auto refused = admission_->dismiss(disconnected.worker, disconnected.stop);
                   if (refused && options_.observer != nullptr) {
                     options_.observer->admitted(now_, *refused);
                   }
                   if (disconnected.stop.how == protocol::Farewell::kPresumedDead) {
                     to_worker(static_cast<std::uint32_t>(index(disconnected.worker)),
                               disconnected.stop,
                               {});
                   }
                 },
                 [this](const server::TakeSnapshot& snapshot) {
                   evaluate(snapshot.version, snapshot.examples);
                 },
                 [this](const server::MeasuredNorms& measured) { will_measure(measured); },
                 [this](const server::Warn& warning) {
                   if (warned_) {
                     warned_(warning.text);
                   }
                 },
                 [this](const server::Finish& finish) {
                   finish_ = finish;
                   admission_->ended(finish);
                 },
                 [this](const server::TakeCheckpoint&) { take_checkpoint(); },
                 [this](const server::Stalled&) { ++fault_counts_.stalled; },
                 // An observer sees the policy's action in its decision.
                 Ignoring<server::Switched, server::LeaveOut, server::HandIn>{}});
  effects_.clear();
  if (!finish_) {
    schedule(deadline_, coordinator_->next_deadline(), Kind::kDeadline);
  }
}

void Cluster::send(server::Send& send) {
  const auto worker = static_cast<std::uint32_t>(index(send.worker));
  const bool is_release = std::holds_alternative<protocol::Release>(send.message);
  Weights with;
  if (learning_ != nullptr && is_release) {
    with = shard_->release(send.worker);
  }
  if (!at_once_) {
    const auto to_message = [](auto& message) { return protocol::Message(std::move(message)); };
    return to_worker(worker, std::visit(to_message, send.message), std::move(with));
  }
  // No event: nothing can come between.
  Worker& to = workers_[worker];
  if (!to.alive) {
    return;
  }
  if (packer_ && is_release) {
    with = packer_->send(send.worker, std::move(with)).weights;
  }
  std::visit([&](const auto& message) { to.inbox.receive(message); }, send.message);
  if (const auto* const verdict = std::get_if<protocol::Verdict>(&send.message)) {
    return judge(worker, *verdict);  // It asks nothing of the worker.
  }
  read_inbox(worker, with);
}

void Cluster::to_worker(std::uint32_t worker, protocol::Message message, Weights weights) {
  if (!workers_[worker].alive) {  // The server has not heard of it yet.
    return;
  }
  const bool is_release = std::holds_alternative<protocol::Release>(message);
  if (is_release && !overlapped_.empty()) {
    overlapped_[worker].released = now_;
  }
  std::optional<double> bytes;
  if (packer_ && is_release) {
    Packer::Sent sent = packer_->send(WorkerId{worker}, std::move(weights));
    weights = std::move(sent.weights);
    bytes = sent.bytes;
  }
  post({Kind::kAtWorker,
        worker,
        store({.message = std::move(message),
               .incarnation = workers_[worker].incarnation,
               .weights = std::move(weights)})},
       bytes);
}

void Cluster::evaluate(Version version, std::uint64_t examples) {
  if (learning_ == nullptr || learning_->evaluator == nullptr ||
      !evaluations_.sent(version, coordinator_->run_time(now_), examples)) {
    return;
  }
  const worker::Evaluation found = learning_->evaluator->evaluate(shard_->weights());
  measurements_.push_back({.version = version, .accuracy = found.accuracy, .loss = found.loss});
  queue_.push(now_, {Kind::kMeasured, 0, 0});  // After the current effects.
}

void Cluster::measured() {
  const std::optional<server::Evaluation> found = evaluations_.measured(measurements_.front());
  measurements_.pop_front();
  CHECK(found.has_value());
  server::evaluated(now_, *found, evaluations_, *coordinator_, effects_);
  carry_out();
}

// After the current effects.
void Cluster::will_measure(const server::MeasuredNorms& norms) {
  norms_.push_back(norms);
  queue_.push(now_, {Kind::kNorms, 0, 0});
}

void Cluster::measured_norms() {
  const server::MeasuredNorms measured = norms_.front();
  norms_.pop_front();
  coordinator_->measured_norms(now_, measured.version, measured.norms, effects_);
  carry_out();
}

void Cluster::schedule(Timer& timer, Time next, Kind kind) {
  if (next == timer.at) {
    return;
  }
  if (timer.event) {
    queue_.cancel(*timer.event);
  }
  timer = {.event = {}, .at = next};
  if (next < Time{kTooLate}) {
    timer.event = queue_.push(std::max(now_, next), {kind, 0, 0});
  }
}

}  // namespace outpace::sim
