#include "cli/peer_role.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/error.h"
#include "collective/gloo_group.h"
#include "collective/gossip.h"
#include "collective/member.h"
#include "collective/ring.h"
#include "live/token_file.h"
#include "peer/replayed.h"
#include "protocol/messages.h"
#include "record/peer_log.h"
#include "record/safetensors.h"
#include "record/write_queue.h"
#include "run/kept_decisions.h"
#include "run/tls.h"
#include "run/whole_file.h"
#include "run/worker_role.h"
#include "wire/address.h"
#include "wire/peer_links.h"
#include "wire/reachable.h"

namespace outpace::cli {
namespace {

std::vector<float> first_weights(const std::string& file, const worker::GradientSource& source) {
  if (file.empty()) {
    return source.initial_weights();
  }
  record::Weights loaded = record::read_safetensors(file);
  if (loaded.manifest != source.manifest()) {
    throw Error(ExitCode::kIncompatible,
                "--weights " + file + ": of another network than --network");
  }
  return std::move(loaded.numbers);
}

collective::PeerOptions peer_options(const job::PeerJob& job, std::uint64_t examples) {
  const job::Resolved resolved = job::resolve(
      job.training, {.patience = job.patience}, {.workers_max = protocol::kWorkersMax});
  const server::CoordinatorOptions& coordinator = resolved.coordinator;
  constexpr std::size_t kKib = 1024;
  return {.worker = WorkerId{job.worker},
          .batches = {.workers = job.training.workers,
                      .batch = job.training.batch,
                      .examples = examples,
                      .updates = coordinator.limits.updates,
                      .iterations = coordinator.limits.iterations,
                      .epochs = coordinator.limits.epochs},
          .seed = job.training.seed,
          .with_replacement = coordinator.with_replacement,
          .evaluate_every = job.training.evaluate_every,
          .rule = {.optimizer = resolved.shard.optimizer,
                   .rate = coordinator.rate,
                   .schedule = coordinator.schedule,
                   .rate_scale = coordinator.rate_scale,
                   .weight_decay = resolved.shard.weight_decay},
          .clip_norm = resolved.shard.clip_norm,
          .bucket_bytes = job.bucket_kib * kKib,
          .averaging = job.gossip.averaging,
          .graph = job.gossip.graph,
          .average_every = job.gossip.average_every,
          .elasticity = job.gossip.elasticity,
          .compression = resolved.compress};
}

// Ring or Gossip.
template <typename Kind>
void take_part(const job::PeerJob& job,
               const live::SessionOptions& session,
               Kind& kind,
               const worker::GradientSource& source,
               const peer::Journal& journal,
               const std::function<void()>& welcomed) {
  collective::Member member(
      session,
      {.manifest = source.manifest(),
       .dataset_examples = source.dataset_examples(),
       .initial_weights = {}},
      [&kind] { return kind.weights(); },
      job.progress_timeout.time,
      journal);
  welcomed();
  kind.run(member);
}

// Where this worker waits for the others.
std::string listen_host(const job::PeerJob& job) {
  if (!job.peer_interface.empty()) {
    return wire::address_of_interface(job.peer_interface);
  }
  if (!job.listen.empty()) {
    return job.listen;
  }
  return job.server.starts_with(wire::kUnixPrefix) ? "127.0.0.1"
                                                   : wire::address_towards(job.server);
}

std::uint64_t draw_process() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

// Calls `once` until the run is over for this worker. `once` throws Lost if the run goes on without
// it, or its host is out of reach; then it comes back, as a newcomer.
class Comings {
 public:
  explicit Comings(const job::PeerJob& job) : job_(job) {}

  void run(const std::function<void(Duration deadline)>& once) {
    while (true) {
      try {
        return once(lost_ ? left() : job_.patience);
      } catch (const collective::Lost& lost) {
        lost_ = lost_.value_or(Clock::now());
        if (!took_part_ || left() <= Duration{}) {
          throw;
        }
        std::fprintf(stderr, "worker %u: %s; it comes back\n", job_.worker, lost.what());
      }
      std::this_thread::sleep_for(kPause);
    }
  }
  void welcomed() {
    lost_.reset();
    took_part_ = true;
  }
  [[nodiscard]] bool again() const { return lost_.has_value(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPause{200};

  [[nodiscard]] Duration left() const {
    return job_.rejoin_for - std::chrono::duration_cast<Duration>(Clock::now() - *lost_);
  }

  const job::PeerJob& job_;
  bool took_part_ = false;
  std::optional<Clock::time_point> lost_;
};

peer::Setting setting_of(const job::PeerJob& job, const collective::PeerOptions& peer) {
  return {.topology = job.topology,
          .batches = peer.batches,
          .evaluate_every = peer.evaluate_every,
          .averaging = peer.averaging,
          .graph = peer.graph,
          .average_every = peer.average_every,
          .seed = peer.seed};
}

// What a worker decides, on the disk.
class Decisions {
 public:
  Decisions(const job::PeerJob& job, const collective::PeerOptions& peer) {
    const auto kept = run::options_of(
        job.decisions,
        run::logs_of_peers(job.training.workers),
        [worker = job.worker](const std::string& line) {
          std::fprintf(stderr, "worker %u: %s\n", worker, line.c_str());
        },
        writes_);
    if (kept && !job.decisions_file.empty()) {
      log_.emplace(job.decisions_file, setting_of(job, peer), *kept);
      journal_ = log_->journal_of(peer.worker);
    }
  }

  [[nodiscard]] const peer::Journal& journal() const { return journal_; }

 private:
  record::WriteQueue writes_;
  std::optional<record::PeerLog> log_;
  peer::Journal journal_;
};

// What does not change when a worker comes back.
struct Constant {
  const std::vector<float>& weights;  // To begin with.
  const collective::GroupOptions& meeting;
  worker::GradientSource& source;
  const worker::Pace& pace;
};

void be_peer_once(const job::PeerJob& job,
                  const live::SessionOptions& session,
                  const collective::PeerOptions& peer,
                  const Constant& with,
                  Comings& comings) {
  const auto welcomed = [&comings] { comings.welcomed(); };
  if (job.topology == job::Topology::kRing) {
    collective::Ring ring(peer, with.weights, with.meeting, with.source, with.pace);
    take_part(job, session, ring, with.source, peer.journal, welcomed);
    const std::string_view bytes(reinterpret_cast<const char*>(ring.weights().data()),
                                 ring.weights().size() * sizeof(float));
    std::fprintf(stderr,
                 "worker %u ended at update %llu; CRC-32C of its weights: %08x\n",
                 job.worker,
                 static_cast<unsigned long long>(count(ring.version())),
                 crc32c(bytes));
  } else {
    collective::Gossip gossip(peer, with.weights, with.meeting, with.source, with.pace);
    take_part(job, session, gossip, with.source, peer.journal, welcomed);
    std::fprintf(stderr,
                 "worker %u applied %llu gradients and began %llu meetings\n",
                 job.worker,
                 static_cast<unsigned long long>(gossip.gradients()),
                 static_cast<unsigned long long>(gossip.meetings()));
  }
}

}  // namespace

void be_peer(const job::PeerJob& job, const run::Learner& learner) {
  if (job.topology == job::Topology::kServer) {
    throw usage_error("--topology is ps; of a peer it is ring or gossip");
  }
  if (job.worker >= job.training.workers) {
    throw usage_error("--worker is " + std::to_string(job.worker) + "; it takes 0 to " +
                      std::to_string(job.training.workers - 1));
  }
  const worker::Pace pace =
      job::make_pace(job.work, job.worker, job.training.workers, run::whole_file);
  const auto source =
      run::make_source(job.work, job.worker, job.training.workers, job.training.seed, learner);
  const std::vector<float> weights = first_weights(job.weights, *source);
  collective::PeerOptions peer = peer_options(job, source->dataset_examples());
  Decisions decisions(job, peer);
  peer.journal = decisions.journal();
  const collective::GroupOptions meeting{
      .links = std::make_shared<wire::PeerLinks>(
          wire::PeerLinks::Options{.host = listen_host(job),
                                   .sealed = job.encrypt,
                                   .refused = [worker = job.worker](const std::string& text) {
                                     std::fprintf(stderr, "worker %u %s\n", worker, text.c_str());
                                   }})};
  const std::string token = live::read_token_file(job.token_file);
  live::SessionOptions session{
      .server = job.server,
      .token = token,
      .tls = run::tls_to(job.server, {}, job.token_file, token, /*insecure_no_tls=*/false),
      .worker = WorkerId{job.worker},
      .process = draw_process()};
  Comings comings(job);
  try {
    comings.run([&](Duration deadline) {
      session.deadline = deadline;
      if (comings.again() && peer.journal) {
        peer.journal("anew", "");
      }
      be_peer_once(job, session, peer, {weights, meeting, *source, pace}, comings);
    });
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDone) {
      throw;
    }
    std::fprintf(stderr, "worker %u: %s\n", job.worker, error.what());
  }
}

}  // namespace outpace::cli
