#include "job/live_job.h"

#include "base/error.h"
#include "base/local_address.h"
#include "job/peer_packing.h"

namespace outpace::job {
namespace {

// What only a server does, or needs to be told.
constexpr std::array kOfServer{
    "balance",         "balance-most",    "runtime-model",   "staleness",
    "filter",          "reduce",          "trace",           "checkpoint-every",
    "checkpoint-keep", "resume",          "token-file",      "rejoin-for",
    "tls-cert",        "tls-key",         "tls-ca",          "launcher",
    "attack",          "slice",           "alarm-staleness", "max-workers",
    "local-steps",     "outer-optimizer", "steps-ahead",     "keep-worker-state"};

std::string name_of(Topology topology) {
  return Value<Topology>::text(topology);
}

void refuse(const OptionList& options,
            Topology topology,
            const std::string& option,
            const std::string& belongs) {
  if (options.at(option).changed()) {
    throw usage_error("--" + option + " conflicts with --topology " + name_of(topology) +
                      ": it belongs to " + belongs + "; remove it");
  }
}

// Whether the workers of a ring or a gossip are on several machines, and how.
void check_machines(const TrainJob& job) {
  const Serving& serving = job.serving;
  const std::string topology = " under --topology " + name_of(job.topology);
  if (serving.listen.empty()) {
    if (job.workers_here || !serving.advertise.empty()) {
      throw usage_error(std::string(job.workers_here ? "--workers-here" : "--advertise") +
                        " without --listen" + topology +
                        ": nobody can join; add --listen HOST:PORT");
    }
    return;
  }
  if (is_local(serving.listen)) {
    throw usage_error("--listen " + serving.listen + topology +
                      ": machines join at an address that they reach, such as 10.0.0.1:4000");
  }
  if (serving.insecure_no_tls) {
    throw usage_error("--insecure-no-tls conflicts with --listen" + topology +
                      ": machines that join by a code speak TLS; remove it");
  }
  if (!job.workers_here) {
    throw usage_error("--listen" + topology +
                      ": say how many of the workers are on this machine, such as --workers-here " +
                      std::to_string(job.training.workers / 2));
  }
  if (*job.workers_here > job.training.workers) {
    throw usage_error("--workers-here is " + std::to_string(*job.workers_here) +
                      ", and --workers " + std::to_string(job.training.workers));
  }
  if (!serving.weights.empty() && *job.workers_here == 0) {
    throw usage_error("--weights with --workers-here 0" + topology +
                      ": a worker of this machine has to begin with them");
  }
}

void declare_membership(OptionList& options, Membership& membership) {
  options
      .add("min-workers",
           membership.min_workers,
           "Fail (exit code 5) when fewer workers than this are live for --patience")
      .between(1);
  options.add("heartbeat-timeout",
              membership.heartbeat_timeout,
              "Declare a worker dead when it has been silent for this time");
  options.add(
      "progress-timeout",
      membership.progress_timeout,
      "Wait no longer for a worker that is alive and has been at a mini-batch for this "
      "time. auto: ten times its slowest usual runtime, at least 30 s; 10 minutes in its first "
      "five mini-batches");
  options.add("patience", membership.patience, "How long to wait for workers to join, or to return")
      .default_words("1m to join, 10m to return");
}

void declare_serving(OptionList& options, Serving& serving, const std::string& whose) {
  options
      .add("weights",
           serving.weights,
           "Start from the weights in this safetensors file instead of random ones")
      .type("FILE");
  options
      .add("listen",
           serving.listen,
           "Address at which the server listens: HOST:PORT or unix:PATH; port 0 takes a free one")
      .type("ADDRESS");
  options
      .add("advertise",
           serving.advertise,
           "Address that machines reach the server at, where it is not that of --listen, such as "
           "behind a port forward: the code says it first")
      .type("HOST:PORT");
  declare_tls(options, serving.tls, whose);
  options.add("insecure-no-tls",
              serving.insecure_no_tls,
              "Allow an address beyond this machine without TLS, although traffic then travels "
              "unencrypted");
}

void declare_checkpoints(OptionList& options, Checkpoints& checkpoints) {
  options.add(
      "checkpoint-every",
      checkpoints.every,
      "Write a checkpoint into the run's directory after this many updates, or at the first "
      "update after this much time; off: none");
  options.add("checkpoint-keep", checkpoints.kept, "Keep this many checkpoints, the newest ones")
      .between(1);
  options
      .add("resume",
           checkpoints.resume,
           "Go on with the run in this directory from its newest checkpoint, with its options; "
           "those of the command line come over them")
      .type("RUN");
  options.add("begin-again",
              checkpoints.begin_again,
              "With --resume, begin from update 0 if the run's checkpoints are gone; without it, "
              "that is refused. Given on the command line, for this time alone");
}

void declare_decisions(OptionList& options, DecisionsKept& decisions) {
  options.add("decisions",
              decisions,
              "Which decisions the record keeps: all; capped, the first and the newest in parts of "
              "this many MiB together; sampled, one in N; or off");
}

void declare_output(OptionList& options, Output& output) {
  declare_trace_and_json(options, output);
  options.add("out", output.out, "Directory for the run's record")
      .type("DIR")
      .default_words("runs/TIME-POLICY");
  options
      .add("tensorboard",
           output.tensorboard,
           "Write loss, accuracy, throughput and staleness as a TensorBoard event file into this "
           "directory")
      .type("DIR");
  options
      .add("dashboard",
           output.dashboard,
           "Serve a page that shows the run, and /metrics for Prometheus, at this address, and "
           "print where; beyond this machine it takes TLS and --dashboard-token-file")
      .may_be_bare()
      .default_words("no page; without a value, 127.0.0.1 and a free port");
  declare_page_token(options, output.dashboard_token);
  options
      .add("on-alarm",
           output.on_alarm,
           "Run this command, by sh, when an alarm begins or ends; OUTPACE_ALARM has its words, "
           "OUTPACE_ALARM_KIND, _WORKER and _OVER the rest")
      .type("COMMAND");
  options.add("alarm-staleness",
              output.alarm_staleness,
              "Raise an alarm when a gradient is applied that is staler than this many updates; 0: "
              "never");
  declare_decisions(options, output.decisions);
}

void declare_topology(OptionList& options,
                      Topology& topology,
                      std::string& peer_interface,
                      std::uint32_t& bucket_kib) {
  options.add("topology",
              topology,
              "ps: a parameter server. ring: all-reduce, like --policy sync. gossip: neighbours "
              "average their weights (--gossip). Without a server, options of the server are "
              "refused");
  options
      .add("peer-interface",
           peer_interface,
           "Network interface by which the workers of a ring or gossip talk to each other: with "
           "--listen encrypted, and of that name on every machine; else unencrypted, which takes "
           "--insecure-no-tls")
      .default_words("with --listen, that of the way to the first machine; else loopback");
  options.add("bucket-kib", bucket_kib, "KiB of gradient, at least, that a ring sums at a time")
      .between(1, kBucketKibMost);
}

}  // namespace

void declare_page_token(OptionList& options, std::string& file) {
  options
      .add("dashboard-token-file",
           file,
           "File with the token that a page beyond this machine asks for, mode 0600; made if there "
           "is none. It opens the page and nothing else. The page's certificates are beside it")
      .type("FILE")
      .default_words("page-token beside --token-file");
}

void declare_trace_and_json(OptionList& options, Output& output) {
  options
      .add("trace",
           output.trace,
           "Write a Chrome trace of tasks, updates and simulated links to this file; open it at "
           "ui.perfetto.dev")
      .type("FILE");
  options.add("json", output.json, "Print the result as one JSON object on standard output");
}

void declare_tls(OptionList& options, TlsOptions& tls, const std::string& whose) {
  options
      .add("tls-cert",
           tls.certificate,
           "PEM file with the certificate that this process presents; `outpace certs` makes one")
      .type("FILE")
      .default_words(whose + ".pem beside --token-file, if it is there");
  options.add("tls-key", tls.key, "PEM file with the private key of --tls-cert, mode 0600")
      .type("FILE")
      .default_words(whose + ".key beside --token-file");
  options
      .add("tls-ca",
           tls.ca,
           "PEM file with the certificate of the authority that must have signed the other side's")
      .type("FILE")
      .default_words("ca.pem beside --token-file");
}

std::optional<DashboardAt> Value<DashboardAt>::parse(std::string_view text) {
  if (text == "true") {  // The option alone.
    return DashboardAt{};
  }
  const std::size_t colon = text.rfind(':');
  const bool is_address = colon != std::string_view::npos && colon > 0 &&
                          !text.starts_with("unix:") && is_port(text.substr(colon + 1));
  return is_address ? std::optional(DashboardAt{.address = std::string(text)}) : std::nullopt;
}

std::optional<server::CheckpointEvery> Value<server::CheckpointEvery>::parse(
    std::string_view text) {
  if (text == "off") {
    return server::CheckpointEvery{};
  }
  if (const auto updates = Value<std::uint64_t>::parse(text); updates && *updates > 0) {
    return server::CheckpointEvery{.updates = *updates, .time = {}};
  }
  const auto time = Value<Duration>::parse(text);
  return time && *time > Duration{}
             ? std::optional(server::CheckpointEvery{.updates = 0, .time = *time})
             : std::nullopt;
}

std::string Value<server::CheckpointEvery>::text(const server::CheckpointEvery& value) {
  if (value.updates > 0) {
    return std::to_string(value.updates);
  }
  return value.time > Duration{} ? duration_text(value.time) : "off";
}

void declare_tls_of_client(OptionList& options, TlsOptions& tls, bool& insecure_no_tls) {
  declare_tls(options, tls, "worker");
  options.add("insecure-no-tls",
              insecure_no_tls,
              "Connect to a server beyond this machine without TLS, although traffic then travels "
              "unencrypted");
}

void declare_launcher(OptionList& options, std::string& launcher) {
  std::string all;
  for (const std::string& name : launch::launchers()) {
    all += (all.empty() ? "" : ", ") + name;
  }
  options.add("launcher",
              launcher,
              "Launcher whose environment variables give the rank: auto takes the first of " + all +
                  " whose variables are set; or one of these, or none");
}

void check(const Serving& serving, const std::string& certificate, const std::string& folder) {
  if (serving.insecure_no_tls && !certificate.empty()) {
    throw usage_error(serving.tls.any()
                          ? "--insecure-no-tls conflicts with --tls-cert; remove one"
                          : "--insecure-no-tls conflicts with " + certificate +
                                ", which is beside the token file: workers would take TLS; "
                                "remove --insecure-no-tls, or move the certificates away");
  }
  const bool beyond = !serving.listen.empty() && !is_local(serving.listen);
  if (beyond && certificate.empty() && !serving.insecure_no_tls) {
    throw usage_error("--listen " + serving.listen +
                      " reaches beyond this machine, and traffic would travel unencrypted: make "
                      "certificates with `outpace certs " +
                      folder + "` or add --insecure-no-tls");
  }
}

void declare(OptionList& options, ServerJob& job) {
  declare(options, job.training);
  declare_membership(options, job.membership);
  declare_serving(options, job.serving, "server");
  declare_checkpoints(options, job.checkpoints);
  declare_output(options, job.output);
  options
      .add("token-file",
           job.token_file,
           "File with the job's secret, mode 0600; created if it does not exist")
      .type("FILE")
      .default_words("keys/token in the run's directory, where the server makes its certificates");
}

void declare_of_server(OptionList& options,
                       Membership& membership,
                       Serving& serving,
                       Checkpoints& checkpoints,
                       Output& output) {
  declare_membership(options, membership);
  declare_serving(options, serving, "server.pem and worker");
  declare_checkpoints(options, checkpoints);
  declare_output(options, output);
}

void declare_of_reducer(OptionList& options, Reaching& reaching, Output& output) {
  declare_reaching(options, reaching);
  declare_output(options, output);
}

void declare_children(OptionList& options, std::string& worker_prefix, bool& restart_workers) {
  options.add("worker-prefix",
              worker_prefix,
              "Words before each worker's command, {worker} replaced by its rank: "
              "'taskset -c {worker}' pins the workers");
  options.add("restart-workers", restart_workers, "Restart a worker that crashed or was killed");
}

void declare_launch(OptionList& options,
                    std::string& token_file,
                    Duration& rejoin_for,
                    std::string& launcher) {
  options
      .add("token-file",
           token_file,
           "Under a launcher (torchrun, srun, mpirun, ...), which starts every worker: file with "
           "the job's secret, mode 0600; created if it does not exist")
      .type("FILE");
  options.add("rejoin-for",
              rejoin_for,
              "Under a launcher: how long a worker on another rank tries to find a lost server");
  declare_launcher(options, launcher);
}

void declare(OptionList& options, TrainJob& job) {
  declare(options, job.training);
  declare_of_server(options, job.membership, job.serving, job.checkpoints, job.output);
  declare_topology(options, job.topology, job.peer_interface, job.bucket_kib);
  declare(options, job.gossip);
  declare(options, job.work);
  declare(options, job.work.slice);
  declare_children(options, job.worker_prefix, job.restart_workers);
  options
      .add("workers-here",
           job.workers_here,
           "With --topology ring or gossip and --listen: how many of --workers to start on this "
           "machine. The run begins when the others have joined by the code")
      .between(0)
      .default_words("all");
  declare_steps_ahead(options, job.steps_ahead);
  declare_keep_worker_state(options, job.keep_worker_state);
  declare_launch(options, job.token_file, job.rejoin_for, job.launcher);
}

void fit_topology(const OptionList& options, TrainJob& job) {
  if (job.topology == Topology::kServer) {
    refuse(options, job.topology, "bucket-kib", "--topology ring");
    refuse(options, job.topology, "peer-interface", "--topology ring or gossip");
    refuse(options, job.topology, "gossip", "--topology gossip");
    refuse(options, job.topology, "graph", "--topology gossip");
    refuse(options, job.topology, "average-every", "--topology gossip");
    refuse(options, job.topology, "elasticity", "--topology gossip");
    refuse(options, job.topology, "workers-here", "--topology ring or gossip");
    check_steps_ahead(job.steps_ahead, job.training.local_steps.has_value());
    check_keep_worker_state(
        job.keep_worker_state,
        job.training.local_steps.has_value() ||
            compress::Compression::parse(job.training.compress.text).leaves_behind());
    return;
  }
  for (const char* option : kOfServer) {
    refuse(options, job.topology, option, "a parameter server");
  }
  check_packing(options, job.topology, job.training.compress);
  check_machines(job);
  if (job.serving.listen.empty() && job.peer_interface.empty() == job.serving.insecure_no_tls) {
    throw usage_error(job.serving.insecure_no_tls
                          ? "--insecure-no-tls without --peer-interface under --topology " +
                                name_of(job.topology) + ": nothing leaves this machine; remove it"
                          : "--peer-interface " + job.peer_interface +
                                ": what workers say to each other is not encrypted; add "
                                "--insecure-no-tls if all on that network may read it");
  }
  const bool ring = job.topology == Topology::kRing;
  const std::string like = ring ? "sync" : "async";
  if (options.at("policy").changed() && job.training.policy.text != like) {
    throw usage_error("--policy " + job.training.policy.text + " conflicts with --topology " +
                      name_of(job.topology) + ", which behaves like " + like +
                      "; remove --policy, or take --topology ps");
  }
  job.training.policy = Spec::parse(like);
  if (!ring) {
    refuse(options, job.topology, "lr-scale", "updates of several gradients");
    refuse(options, job.topology, "bucket-kib", "--topology ring");
    if (job.training.workers < 2) {
      throw usage_error("--workers is " + std::to_string(job.training.workers) +
                        "; a gossip takes at least 2");
    }
    fit_gossip(options, job.gossip);
  } else {
    refuse(options, job.topology, "gossip", "--topology gossip");
    refuse(options, job.topology, "graph", "--topology gossip");
    refuse(options, job.topology, "average-every", "--topology gossip");
    refuse(options, job.topology, "elasticity", "--topology gossip");
  }
}

std::string what_runs(const TrainJob& job) {
  return job.topology == Topology::kServer ? job.training.policy.text : name_of(job.topology);
}

void declare(OptionList& options, PeerJob& job) {
  declare(options, job.training);
  declare_topology(options, job.topology, job.peer_interface, job.bucket_kib);
  declare(options, job.gossip);
  declare(options, job.work);
  options.add("weights", job.weights, "Start from the weights in this safetensors file")
      .type("FILE");
  options.add("patience", job.patience, "How long to wait for the other workers");
  options.add("progress-timeout",
              job.progress_timeout,
              "Send no heartbeats while a mini-batch takes longer than this time, so that the "
              "others go on without this worker; auto: as for train");
  options
      .add("server",
           job.server,
           "Address of the process that keeps the record: HOST:PORT or unix:PATH")
      .type("ADDRESS")
      .required();
  options.add("token-file", job.token_file, "File with the run's secret, mode 0600")
      .type("FILE")
      .required();
  options.add("worker", job.worker, "This worker's rank: 0, 1, 2, ...").required();
  options
      .add("listen",
           job.listen,
           "Where this worker waits for the others, at a free port: a host without one")
      .type("HOST")
      .default_words("that of its connection to --server");
  options.add("encrypt", job.encrypt, "Encrypt what this worker and the others say to each other");
  options.add("rejoin-for",
              job.rejoin_for,
              "How long to try to come back when the connection to --server is lost");
  declare_decisions(options, job.decisions);
  options.add("decisions-file", job.decisions_file, "Where this worker's decisions are kept")
      .type("FILE")
      .default_words("nowhere");
}

}  // namespace outpace::job
