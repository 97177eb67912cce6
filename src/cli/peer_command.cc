#include <cstdio>
#include <memory>
#include <utility>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/roles.h"
#include "cli/topology.h"
#include "collective/gloo_group.h"
#include "collective/gossip.h"
#include "collective/member.h"
#include "collective/ring.h"
#include "live/token_file.h"
#include "record/safetensors.h"

namespace outpace::cli {
namespace {

struct OwnOptions {
  JobOptions job;
  WorkOptions work;
  std::string server;
  std::string token_file;
  std::string rendezvous;
  std::uint32_t worker = 0;
};

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

collective::PeerOptions peer_options(const OwnOptions& options, std::uint64_t examples) {
  const Training training = to_training(options.job, protocol::kWorkersMax);
  const server::CoordinatorOptions& job = training.coordinator;
  constexpr std::size_t kKib = 1024;
  return {.worker = WorkerId{options.worker},
          .batches = {.workers = options.job.workers,
                      .batch = options.job.batch,
                      .examples = examples,
                      .updates = job.limits.updates,
                      .iterations = job.limits.iterations,
                      .epochs = job.limits.epochs},
          .seed = options.job.seed,
          .with_replacement = job.with_replacement,
          .evaluate_every = options.job.evaluate_every,
          .rule = {.optimizer = training.shard.optimizer,
                   .rate = job.rate,
                   .schedule = job.schedule,
                   .rate_scale = job.rate_scale,
                   .weight_decay = training.shard.weight_decay},
          .clip_norm = training.shard.clip_norm,
          .bucket_bytes = options.job.bucket_kib * kKib};
}

// Ring or Gossip.
template <typename Kind>
void take_part(const OwnOptions& options, Kind& kind, const worker::GradientSource& source) {
  collective::Member member({.server = options.server,
                             .token = live::read_token_file(options.token_file),
                             .worker = WorkerId{options.worker},
                             .incarnation = 1,
                             .deadline = duration_option("patience", options.job.patience)},
                            {.manifest = source.manifest(),
                             .dataset_examples = source.dataset_examples(),
                             .initial_weights = {}},
                            [&kind] { return kind.weights(); });
  kind.run(member);
  member.leave();
}

int be_peer(const OwnOptions& options) {
  if (options.worker >= options.job.workers) {
    throw usage_error("--worker is " + std::to_string(options.worker) + "; it takes 0 to " +
                      std::to_string(options.job.workers - 1));
  }
  const worker::Pace pace = make_pace(options.work, options.worker, options.job.workers);
  const auto source =
      make_source(options.work, options.worker, options.job.workers, options.job.seed);
  std::vector<float> weights = first_weights(options.job.weights, *source);
  const collective::PeerOptions peer = peer_options(options, source->dataset_examples());
  collective::GlooGroup group({.rank = options.worker,
                               .size = options.job.workers,
                               .rendezvous = options.rendezvous,
                               .deadline = duration_option("patience", options.job.patience),
                               .interface = options.job.peer_interface});
  if (without_server(options.job) == collective::Topology::kRing) {
    collective::Ring ring(peer, std::move(weights), group, *source, pace);
    take_part(options, ring, *source);
  } else {
    collective::Gossip gossip(peer, std::move(weights), group, *source, pace);
    take_part(options, gossip, *source);
    std::fprintf(stderr,
                 "worker %u asked for %llu meetings\n",
                 options.worker,
                 static_cast<unsigned long long>(gossip.meetings()));
  }
  return 0;
}

}  // namespace

Run add_peer(CLI::App& command) {
  auto options = std::make_shared<OwnOptions>();
  add_training_options(command, options->job);
  add_topology_options(command, options->job);
  add_work_options(command, options->work);
  command.add_option("--weights", options->job.weights, "Start from this safetensors file");
  command.add_option("--patience", options->job.patience, "How long to wait for the others");
  command.add_option("--server", options->server, "unix:PATH of the process that keeps the record")
      ->required();
  command.add_option("--token-file", options->token_file, "The run's secret, mode 0600")
      ->required();
  command
      .add_option("--rendezvous",
                  options->rendezvous,
                  "A file by which the workers find each other's ports")
      ->required();
  command.add_option("--worker", options->worker, "This worker's rank: 0, 1, 2, ...")->required();
  return [options](const CLI::App& /*chosen*/, const Origins& /*origins*/) {
    if (options->job.topology != "ring" && options->job.topology != "gossip") {
      throw usage_error("--topology is '" + options->job.topology +
                        "'; of a peer it is ring or gossip");
    }
    options->job.policy = "sync";  // The steps are those of fresh gradients.
    return be_peer(*options);
  };
}

}  // namespace outpace::cli
