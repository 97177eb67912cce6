// The jobs of real processes: train, server, worker, evaluator and peer. Each is a value with
// defaults, and declare() lists its options.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/local_address.h"
#include "base/time.h"
#include "job/decisions_kept.h"
#include "job/gossip_options.h"
#include "job/option_list.h"
#include "job/training.h"
#include "job/work.h"
#include "launch/place.h"
#include "worker/topology.h"

namespace outpace::job {

using worker::Topology;
template <>
struct Choices<Topology> {
  static constexpr std::array<std::pair<std::string_view, Topology>, 3> kWords{
      {{"ps", Topology::kServer}, {"ring", Topology::kRing}, {"gossip", Topology::kGossip}}};
};

// Where a run's page is served: HOST:PORT.
struct DashboardAt {
  std::string address = "127.0.0.1:0";

  bool operator==(const DashboardAt&) const = default;
};
template <>
struct Value<DashboardAt> {
  static constexpr const char* kType = "HOST:PORT";
  static std::string takes() { return "HOST:PORT, or nothing for a free port of this machine"; }
  static std::optional<DashboardAt> parse(std::string_view text);
  static std::string text(const DashboardAt& value) { return value.address; }
};

// What a run leaves behind and prints.
struct Output {
  std::string out;          // A directory; empty: the default.
  std::string trace;        // A file; empty: none.
  std::string tensorboard;  // A directory; empty: none.
  DecisionsKept decisions;
  bool json = false;
  std::optional<DashboardAt> dashboard{};  // Nothing: no page.
  std::string dashboard_token{};           // A file; empty: page-token beside the job's.
  std::string on_alarm{};                  // A command; empty: none.
  std::uint64_t alarm_staleness = 0;       // 0: no bound.
};
void declare_trace_and_json(OptionList& options, Output& output);
void declare_page_token(OptionList& options, std::string& file);

// PEM files for TLS. All empty: those beside the token file, if they are there.
struct TlsOptions {
  std::string certificate;
  std::string key;
  std::string ca;

  [[nodiscard]] bool any() const { return !certificate.empty() || !key.empty() || !ca.empty(); }
};
// `whose`: the side whose files count by default, "server" or "worker".
void declare_tls(OptionList& options, TlsOptions& tls, const std::string& whose);
// For a process that connects to the server.
void declare_tls_of_client(OptionList& options, TlsOptions& tls, bool& insecure_no_tls);

// Where a server listens, and what it begins with.
struct Serving {
  std::string listen;     // Empty: the command's default.
  std::string advertise;  // Where machines reach it; empty: there.
  std::string weights;    // A file; empty: the first worker's.
  TlsOptions tls;
  bool insecure_no_tls = false;
};

// `certificate`: the file that will be used; empty: no TLS. Throws a usage error if the server
// would listen beyond this machine with neither TLS nor leave to go without, or if it has both.
// `folder`: where certificates are looked for, that of the token file.
void check(const Serving& serving, const std::string& certificate, const std::string& folder);

// What outlasts a server's death. Live servers write checkpoints into the run's directory.
struct Checkpoints {
  server::CheckpointEvery every{.updates = 0, .time = std::chrono::seconds(60)};
  std::uint32_t kept = 3;
  std::string resume;        // A run's directory; empty: a new run.
  bool begin_again = false;  // Even if its checkpoints are gone.
};
template <>
struct Value<server::CheckpointEvery> {
  static constexpr const char* kType = "UPDATES|DURATION";
  static std::string takes() {
    return "a number of updates such as 1000, a duration such as 60s, or off";
  }
  static std::optional<server::CheckpointEvery> parse(std::string_view text);
  static std::string text(const server::CheckpointEvery& value);
};

struct ServerJob {
  Training training{.may_balance = kOneSize, .optimizer = Spec::parse(kScriptOptimizer)};
  Membership membership;
  Serving serving;
  Checkpoints checkpoints;
  Output output;
  std::string token_file;
};
void declare(OptionList& options, ServerJob& job);

// Connections to the server that one process may have (wire::kLanesMax).
inline constexpr std::uint32_t kConnectionsMost = 16;

// How a worker or an evaluator reaches its server, and how it finds a lost one again.
struct Reaching {
  Duration deadline = std::chrono::seconds(60);  // To connect.
  Duration rejoin_for = std::chrono::minutes(10);
  Duration keep_alive = std::chrono::seconds(20);
  std::optional<std::uint32_t> connections;  // Nothing: by the link's round trip.
};

void declare_reaching(OptionList& options, Reaching& reaching);
void declare_on_notice(OptionList& options, std::string& command);

struct TrainJob {
  Training training;
  Membership membership;
  Serving serving;
  Checkpoints checkpoints;
  Output output;
  Topology topology = Topology::kServer;
  std::string peer_interface;       // For workers without a server; empty: loopback.
  std::uint32_t bucket_kib = 1024;  // KiB of gradient that a ring sums at a time, at least.
  GossipOptions gossip;
  Work work;
  std::string worker_prefix;  // Words before each worker's command.
  bool restart_workers = false;
  // Workers of a ring or gossip on this machine; nothing: all. The others join by the code.
  std::optional<std::uint32_t> workers_here;
  bool steps_ahead = false;                     // With local steps.
  bool keep_worker_state = false;               // With local steps, in the run's directory.
  std::string token_file;                       // For processes that a launcher starts.
  Duration rejoin_for = Reaching{}.rejoin_for;  // For these, too.
  std::string launcher = launch::kAnyLauncher;
};
void declare(OptionList& options, TrainJob& job);

// After the options are set. Throws a usage error for an option that was given and belongs to
// another topology. Without a server the policy becomes that which the topology is like: sync for a
// ring and async for a gossip.
void fit_topology(const OptionList& options, TrainJob& job);

// The policy, or what there is in place of one: for people, and for the name of a run.
[[nodiscard]] std::string what_runs(const TrainJob& job);

struct WorkerJob {
  Work work;
  std::string server;  // Empty: as the launcher says.
  std::string token_file;
  TlsOptions tls;
  bool insecure_no_tls = false;
  std::optional<std::uint32_t> worker;  // Nothing: as the launcher says; the next one as well.
  std::optional<std::uint32_t> workers;
  std::uint64_t seed = 1;
  std::optional<Spec> compress;   // Nothing: as the server says.
  bool steps_ahead = false;       // If the job has local steps; the next one as well.
  std::string keep_state;         // A folder; empty: the state is not kept.
  std::uint32_t reduce_here = 0;  // Workers that this process starts and sums; 0: it is a worker.
  std::string on_notice;          // A command; empty: none.
  Reaching reaching;
  std::string launcher = launch::kAnyLauncher;
};
void declare(OptionList& options, WorkerJob& job);

struct EvaluatorJob {
  Spec network = Spec::parse("mlp");
  Spec data = Spec::parse("fashion-mnist");
  std::uint32_t threads = 1;
  std::string server;
  std::string token_file;
  TlsOptions tls;
  bool insecure_no_tls = false;
  std::uint64_t seed = 1;
  Reaching reaching;
};
void declare(OptionList& options, EvaluatorJob& job);

// One worker of a ring or a gossip; `train` and `join` start them.
struct PeerJob {
  Training training;
  Topology topology = Topology::kRing;
  std::string peer_interface;
  std::uint32_t bucket_kib = 1024;
  GossipOptions gossip;
  Work work;
  std::string weights;
  Duration patience = std::chrono::seconds(60);
  AutoDuration progress_timeout;
  std::string server;
  std::string token_file;
  std::uint32_t worker = 0;
  std::string listen;    // A host, for the others; empty: that of the connection to the server.
  bool encrypt = false;  // What workers say to each other.
  Duration rejoin_for = Reaching{}.rejoin_for;
  DecisionsKept decisions;
  std::string decisions_file;  // Empty: none are kept.
};
void declare(OptionList& options, PeerJob& job);

// What `train` and `run` have alike: the server, the processes that it starts, the launcher.
void declare_of_server(OptionList& options,
                       Membership& membership,
                       Serving& serving,
                       Checkpoints& checkpoints,
                       Output& output);
void declare_children(OptionList& options, std::string& worker_prefix, bool& restart_workers);
void declare_launch(OptionList& options,
                    std::string& token_file,
                    Duration& rejoin_for,
                    std::string& launcher);
// For `outpace reduce`, which is a worker, and keeps a record.
void declare_of_reducer(OptionList& options, Reaching& reaching, Output& output);
void declare_launcher(OptionList& options, std::string& launcher);

}  // namespace outpace::job
