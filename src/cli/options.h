// The options that several commands share, declared once, and what they mean for the layers below.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "live/server.h"
#include "policy/balance.h"
#include "policy/catalogue.h"
#include "record/run_directory.h"
#include "worker/attack.h"
#include "worker/pace.h"

namespace outpace::cli {

inline constexpr const char* kServerTopology = "ps";  // A parameter server.

// What a run optimises and how: server and train.
struct JobOptions {
  std::uint32_t workers = 8;
  std::uint32_t min_workers = 1;
  std::string policy = "async";
  bool balance = false;
  std::optional<double> balance_most;  // Nothing: as BalanceOptions has it.
  std::string runtime_model;           // A file; empty: none.
  std::string staleness;               // Empty: the policy's default.
  std::string optimizer = "sgd";
  std::optional<double> rate;  // Nothing: the optimizer's default.
  std::string schedule = "constant";
  std::string rate_scale = "none";
  double weight_decay = 0.0;
  double clip_norm = 0.0;
  std::string filter = "none";
  std::uint32_t batch = 32;
  std::uint64_t seed = 1;
  std::string sampling = "epoch";
  std::string reduce;  // Empty: the policy's default.
  std::uint64_t updates = 0;
  std::uint64_t iterations = 0;
  std::uint64_t epochs = 0;
  std::string seconds = "0s";
  std::optional<double> target_accuracy;
  std::uint32_t consecutive = 3;
  std::string peer_interface;       // Of workers without a server; empty: loopback.
  std::uint32_t bucket_kib = 1024;  // KiB of gradient that a ring sums at a time, at least.
  bool past_target = false;
  bool insecure_no_tls = false;
  bool json = false;
  std::uint64_t evaluate_every = 5120;
  std::string weights;
  std::string heartbeat_timeout = "5s";
  std::string patience = "60s";
  std::string listen;
  std::string out;
  std::string trace;  // Empty: none.
  // Of `train` alone: how its workers are joined up (topology.h).
  std::string topology = kServerTopology;
};
// Those that hold in virtual time too.
void add_training_options(CLI::App& command, JobOptions& options);
// All of them.
void add_job_options(CLI::App& command, JobOptions& options);

// For help texts; src/learn, which not every build has, reads them.
inline constexpr const char* kNetworks = "mlp, cnn, resnet8 or charlm[:layers=2,width=64,heads=4]";
inline constexpr const char* kDataSets =
    "fashion-mnist[:dir=DIR], idx:DIR, csv:FILE[,test-every=10] or text:FILE[,context=64]";

// What a worker computes and at what pace: worker and train.
struct WorkOptions {
  std::string network = "mlp";
  std::string data = "fashion-mnist";
  std::string paced;   // A profile; empty: gradients are computed.
  std::string prefix;  // Of `train`: words before a worker's command.
  std::uint32_t threads = 1;
  std::string delays;
  std::string delays_by = "time";
  std::string delays_period = "20ms";
  std::vector<std::string> slow;
  std::vector<std::string> attacks;
};
void add_delay_options(CLI::App& command, WorkOptions& options);
void add_attack_option(CLI::App& command, WorkOptions& options);
void add_work_options(CLI::App& command, WorkOptions& options);

// By how much --slow slows one worker of `workers`. Throws a usage error.
[[nodiscard]] double slow_factor(const WorkOptions& options,
                                 std::uint32_t worker,
                                 std::uint32_t workers);
// A worker that waits instead of computing and is slowed waits longer from the start: what its
// waits overrun by is not slowed as well. Its pace is then its own.
[[nodiscard]] bool waits_longer(const WorkOptions& options);
// The pace of one worker of `workers`. Throws a usage error for a wrong trace or option.
[[nodiscard]] worker::Pace make_pace(const WorkOptions& options,
                                     std::uint32_t worker,
                                     std::uint32_t workers);
// Throws a usage error that says what is wrong with one of them.
[[nodiscard]] std::vector<worker::Attack> parse_attacks(const WorkOptions& options,
                                                        std::uint32_t workers);
// Throws a usage error for a wrong trace, attack or number of threads, which would make every
// worker fail.
void check_work_options(const WorkOptions& options, std::uint32_t workers);

// The name of the staleness rule in force: given, or the policy's default. Throws a usage error for
// a rule beside a policy that weighs staleness itself.
[[nodiscard]] std::string staleness_in_force(const JobOptions& options);

// The learning rate in force: given, or the optimizer's default.
[[nodiscard]] double rate_in_force(const JobOptions& options);

// Whether and how mini-batches are balanced. Throws a usage error that names the option.
[[nodiscard]] std::optional<policy::BalanceOptions> balance_in_force(const JobOptions& options);

// A copy of the runtime model that the policy has, if it has one, so that the run can be replayed.
void keep_runtime_model(const JobOptions& options, const record::RunDirectory& directory);

// What the options say to the layers that compute. Throws a usage error that names the option.
struct Training {
  Spec policy;
  policy::PolicyInputs given;
  server::CoordinatorOptions coordinator;  // But for job and examples.
  server::ShardOptions shard;
  server::Evaluations::Options target;
};
[[nodiscard]] Training to_training(const JobOptions& options, std::uint32_t workers_max);

// Everything but token and evaluator. Throws a usage error that names the option.
[[nodiscard]] live::ServerOptions to_server_options(const JobOptions& options);
// True if nobody on another machine can connect to what listens there.
[[nodiscard]] bool is_local(const std::string& listen);

// A whole file. Throws a usage error that names the option if it cannot be read, or is empty.
[[nodiscard]] std::string read_file(const std::string& option, const std::string& path);

// Throws a usage error unless --jobs is a number of runs that may go on at a time.
void check_jobs(std::uint32_t jobs);

// Throws a usage error that names the option if `text` is no duration.
[[nodiscard]] Duration duration_option(const std::string& name, const std::string& text);

}  // namespace outpace::cli
