// The server's death, and another server that goes on from the newest checkpoint.
// Tested by src/virtual/sim/cluster_server_test.cc.

#include <algorithm>

#include "base/overloaded.h"
#include "policy/catalogue.h"
#include "server/script.h"
#include "sim/cluster.h"
#include "sim/oracle.h"

namespace outpace::sim {
namespace {

constexpr std::uint64_t kUpdatesPerCheckpoint = 50;  // If servers die, and nobody said otherwise.

void add_to(Digest& digest, const policy::Action& action) {
  digest.add(action.index());
  std::visit(
      Overloaded{[&](const policy::Accept& accepted) {
                   digest.add(number(accepted.release));
                   digest.add(accepted.weight);
                 },
                 [&](const policy::Drop& dropped) { digest.add(number(dropped.release)); },
                 Ignoring<policy::Commit>{},
                 [&](const policy::Release& released) {
                   digest.add(index(released.worker));
                   digest.add(released.share);
                 },
                 [&](const policy::Cancel& cancelled) {
                   digest.add(2 * index(cancelled.worker) + (cancelled.keep_part ? 1U : 0U));
                 },
                 [&](const policy::WakeAt& wake) {
                   digest.add(static_cast<std::uint64_t>(wake.time.time_since_epoch().count()));
                 },
                 [&](const policy::Switched& switched) { digest.add(std::uint64_t{switched.to}); }},
      action);
}

bool has(const ClusterOptions& options, Fault::Kind kind) {
  return std::any_of(options.faults.begin(), options.faults.end(), [kind](const Fault& fault) {
    return fault.kind == kind;
  });
}

}  // namespace

server::CoordinatorOptions Cluster::coordinator_options() const {
  server::CoordinatorOptions options = options_.coordinator;
  options.generation = generation_;
  options.later = later_workers(options_.faults, options.workers);
  if (!hearts_beat_) {
    options.heartbeat_timeout = kNever;
    options.patience = kNever;
    options.return_patience = kNever;
  }
  if (!has(options_, Fault::Kind::kHang)) {
    options.progress_timeout = kNever;
  }
  if (!has(options_, Fault::Kind::kServer)) {
    options.checkpoint_every = {};
  } else if (options.checkpoint_every == server::CheckpointEvery{}) {
    options.checkpoint_every.updates = kUpdatesPerCheckpoint;
  }
  return options;
}

std::unique_ptr<server::Coordinator> Cluster::make_coordinator() {
  return std::make_unique<server::Coordinator>(
      coordinator_options(),
      options_.oracle ? std::make_unique<Oracle>([this](WorkerId worker) { return due(worker); })
                      : policy::make_policy(
                            options_.policy, options_.coordinator.workers, options_.policy_inputs),
      [this](Time now, const policy::Event& event, const policy::Decision& decision) {
        Digest digest = digest_;  // A copy: one that nobody else can see stays in a register.
        for (const policy::Action& action : decision.actions) {
          add_to(digest, action);
        }
        digest_ = digest;
        if (decided_) {
          decided_(now, event, decision);
        }
      },
      now_);
}

void Cluster::make_shard() {
  shard_.emplace(server::with_script(options_.shard, learning_->gradients.script()),
                 learning_->gradients.initial_weights(),
                 learning_->gradients.manifest().sizes());
}

std::optional<Packer> Cluster::make_packer() const {
  const std::uint32_t workers = options_.coordinator.workers;
  if (learning_ != nullptr) {
    const auto numbers = static_cast<double>(network_.numbers());
    return Packer(options_.packing, workers, sizeof(float) * numbers);
  }
  if (options_.links != nullptr) {
    return Packer(options_.packing, workers, options_.links->payload);
  }
  return std::nullopt;
}

void Cluster::take_checkpoint() {
  if (packer_) {
    coordinator_->carried(packer_->traffic());
  }
  checkpoint_.emplace();
  keep(*checkpoint_);
}

void Cluster::keep(Archive& archive) {
  coordinator_->keep(now_, archive);
  archive("evaluations", evaluations_);
  if (shard_) {
    archive("shard", *shard_);
  }
}

void Cluster::server_dies(Duration lasts) {
  if (server_back_) {
    return;
  }
  ++fault_counts_.servers;
  server_back_ = now_ + lasts;
  queue_.push(*server_back_, {Kind::kServerBack, 0, 0});
  schedule(deadline_, Time::max(), Kind::kDeadline);
  for (std::uint32_t id = 0; id < workers_.size(); ++id) {
    Worker& worker = workers_[id];
    if (!worker.alive) {
      continue;
    }
    worker.alive = false;
    worker.rejoins = true;
    if (worker.computing) {
      queue_.cancel(worker.done);
      end_task(worker);
    }
    lose_transfers(id);
    const Time back = std::max(*server_back_, worker.paused_until) + kReconnect;
    worker.last_departure = std::max(worker.last_departure, now_ + 2 * kReconnect);
    queue_.push(back, {Kind::kJoin, id, 1});
  }
}

void Cluster::server_back() {
  server_back_.reset();
  ++generation_;
  coordinator_ = make_coordinator();
  admission_ = make_admission();
  evaluations_ = server::Evaluations(options_.target);
  if (shard_) {
    make_shard();
  }
  if (checkpoint_) {
    checkpoint_->rewind();  // It may be read again.
    keep(*checkpoint_);
    admission_->resume(
        {.network = network_, .examples = options_.coordinator.examples, .script = std::nullopt},
        coordinator_->version());
  }
  if (packer_) {
    packer_->server_began();
  }
  server_free_ = now_;
  if (options_.observer != nullptr) {
    options_.observer->restarted(now_);
  }
  schedule(deadline_, coordinator_->next_deadline(), Kind::kDeadline);
}

void Cluster::lose(const Event& event) {
  switch (event.kind) {
    case Kind::kAtServer:
    case Kind::kServed:
      (void)take_out(event.number);
      return;
    case Kind::kMeasured:
      measurements_.pop_front();
      return;
    case Kind::kNorms:
      norms_.pop_front();
      return;
    case Kind::kGone:
    case Kind::kDeadline:
      return;
    case Kind::kJoin:
    case Kind::kFinished:
    case Kind::kAtWorker:
    case Kind::kFault:
    case Kind::kTransfers:
    case Kind::kHeartbeat:
    case Kind::kServerBack:
    case Kind::kPiece:
    case Kind::kSlice:
      return handle_now(event);
  }
}

}  // namespace outpace::sim
