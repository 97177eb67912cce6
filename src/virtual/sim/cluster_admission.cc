// How the cluster's peers greet the server: each over a connection of its own, decided by the
// admission as live.

#include <utility>

#include "admission/driver.h"
#include "base/check.h"
#include "base/overloaded.h"
#include "sim/cluster.h"

namespace outpace::sim {
namespace {

protocol::Manifest foreign_network() {
  return {.tensors = {{.name = "of another job", .shape = {1}}}};
}

}  // namespace

std::unique_ptr<admission::Admission> Cluster::make_admission() const {
  admission::Options options{.job = options_.coordinator.job,
                             .workers = options_.coordinator.workers,
                             // Each that greets joins or is refused at once.
                             .heartbeat_timeout = kNever,
                             .network = network_,
                             .has_weights = true,
                             .shard = options_.shard};
  for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) {
    if (workers_[worker].incarnation > 0) {  // Its messages may still be under way.
      options.incarnations[WorkerId{worker}] = workers_[worker].incarnation;
    }
  }
  return std::make_unique<admission::Admission>(std::move(options));
}

void Cluster::greet(const admission::WorkerGreets& greeting) {
  protocol::Hello hello{.worker = greeting.worker,
                        .process = greeting.process,
                        .host = "",
                        .dataset_examples = options_.coordinator.examples,
                        .manifest = greeting.network};
  if (options_.steps_ahead) {
    hello.ahead = 1;
  }
  if (learning_ != nullptr) {
    hello.script = learning_->gradients.script();
  }
  if (packer_ && workers_[index(greeting.worker)].process == greeting.process) {
    hello.unanswered = packer_->unanswered(greeting.worker);
  }
  tell_observer(greeting);
  const auto held = admission_->in_the_way(now_, hello);
  if (held &&
      workers_[index(greeting.worker)].connection != *held) {  // An earlier process holds the rank.
    tell_observer(admission::ConnectionEnds{*held});
    to_admission([&](auto& out) { admission_->hung_up(*held, out); });
  }
  to_admission([&](auto& out) {
    admission_->hello(now_, greeting.peer, hello, coordinator_->version(), out);
  });
}

void Cluster::close(ConnectionId connection) {
  tell_observer(admission::ConnectionEnds{connection});
  to_admission([&](auto& out) { admission_->closed(connection, "end of stream", out); });
}

void Cluster::tell_observer(const admission::Input& input) {
  if (options_.observer != nullptr) {
    options_.observer->greeted(now_, input);
  }
}

void Cluster::admit(admission::Effects& effects) {
  const Overloaded driver{
      [this](const admission::Accept& accepted) {
        workers_[index(accepted.worker)].incarnation = accepted.incarnation;
        if (packer_) {
          packer_->connected(accepted.worker,
                             coordinator_->counted(accepted.worker, accepted.unanswered));
        }
      },
      [this](const admission::Join& join) {
        for (const admission::Join::Worker& worker : join.workers) {
          const bool joined = coordinator_->join(now_, worker.newcomer, effects_);
          CHECK(joined);
          carry_out(server::JoinInput{worker.newcomer.worker, worker.newcomer.incarnation});
        }
      },
      [this](const admission::Leave& leave) {
        coordinator_->leave(now_, leave.worker, leave.incarnation, leave.how, effects_);
        carry_out(server::LeaveInput{leave.worker, leave.incarnation});
      },
      // Connections of workers end with the worker or the run. Those of others end at once. The
      // coordinator and the weights are there from the beginning, and nobody hears of evaluators.
      Ignoring<admission::Welcome,
               admission::Refuse,
               admission::HangUp,
               admission::Open,
               admission::Reset,
               admission::ScriptChanged,
               admission::ForgetWeights,
               admission::Serve,
               admission::EvaluatorLost,
               admission::MeasureLast,
               admission::StartEvaluator,
               admission::Warn,
               admission::Awaits,
               admission::End>{}};
  admission::carry_out(*admission_, now_, effects, [&](const auto& effect) {
    if (options_.observer != nullptr) {
      options_.observer->admitted(now_, effect);
    }
    driver(effect);
  });
}

void Cluster::befall_greeting(const Fault& fault) {
  if (server_back_) {
    return;  // Nobody answers.
  }
  const ConnectionId from{++connections_};
  if (fault.kind == Fault::Kind::kEvaluator) {
    ++fault_counts_.evaluators;
    tell_observer(admission::EvaluatorGreets{from, network_});
    to_admission([&](auto& out) { admission_->observe(from, {.manifest = network_}, out); });
    queue_.push(now_ + *fault.lasts, {Kind::kGone, 0, 2 * static_cast<std::uint64_t>(from)});
    return;
  }
  const Worker& own = workers_[index(fault.worker)];
  const bool foreign = fault.kind == Fault::Kind::kForeign;
  if (!foreign && (!own.alive || admission_->member(fault.worker) != own.connection)) {
    return;  // The rank is free, or will be: the process would be the worker.
  }
  ++(foreign ? fault_counts_.foreign : fault_counts_.doubles);
  greet({.peer = from,
         .worker = fault.worker,
         .process = ++processes_,
         .network = foreign ? foreign_network() : network_});
  close(from);
}

void Cluster::greet_late() {
  tell_observer(admission::RunEnds{});
  for (const ConnectionId from : {ConnectionId{++connections_}, ConnectionId{++connections_}}) {
    greet({.peer = from, .worker = WorkerId{0}, .process = ++processes_, .network = network_});
    close(from);
  }
}

}  // namespace outpace::sim
