#include "cli/options.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "policy/catalogue.h"
#include "record/runtime_model_file.h"
#include "record/safetensors.h"

namespace outpace::cli {
namespace {

// More than any data set here has, and few enough that a release, which names a mini-batch by its
// ranges in each epoch, stays small.
constexpr std::uint32_t kBatchMost = 1U << 20U;

constexpr std::uint64_t kEpochsByDefault = 5;
constexpr std::uint64_t kEpochsTowardsTarget = 50;
constexpr Duration kDurationMost = std::chrono::hours(24 * 365 * 10);

server::Limits limits_of(const JobOptions& options) {
  server::Limits limits{.updates = options.updates,
                        .iterations = options.iterations,
                        .epochs = options.epochs,
                        .seconds = duration_option("seconds", options.seconds)};
  const bool none = limits.updates == 0 && limits.iterations == 0 && limits.epochs == 0 &&
                    limits.seconds == Duration{};
  if (none) {
    const bool until_target = options.target_accuracy && !options.past_target;
    limits.epochs = until_target ? kEpochsTowardsTarget : kEpochsByDefault;
  }
  return limits;
}

std::uint64_t draw_job() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

void check_counts(const JobOptions& options, std::uint32_t workers_max) {
  if (options.workers < 1 || options.workers > workers_max) {
    throw usage_error("--workers is " + std::to_string(options.workers) +
                      "; it takes a whole number from 1 to " + std::to_string(workers_max));
  }
  if (options.min_workers < 1 || options.min_workers > options.workers) {
    throw usage_error("--min-workers is " + std::to_string(options.min_workers) +
                      "; it takes a whole number from 1 to --workers, " +
                      std::to_string(options.workers));
  }
  if (options.batch < 1 || options.batch > kBatchMost) {
    throw usage_error("--batch is " + std::to_string(options.batch) +
                      "; it takes a number of examples from 1 to " + std::to_string(kBatchMost));
  }
  if (options.evaluate_every < 1 || options.consecutive < 1) {
    throw usage_error("--evaluate-every and --consecutive take at least 1");
  }
}

// A gradient that is an update of its own weighs by its examples; a rate that also grows with them
// would count them twice.
void check_scales_once(const JobOptions& options, const policy::Policy& policy) {
  constexpr std::uint32_t kTwo = 2;  // Of one worker alone all policies are alike.
  if (options.balance && options.rate_scale != "none" &&
      policy.nominal_cutoff(std::max(kTwo, options.workers)) == 1) {
    throw usage_error("--lr-scale " + options.rate_scale + " beside --balance and --policy " +
                      options.policy +
                      ": its gradients weigh by their examples already; leave --lr-scale out");
  }
}

void check_numbers(const JobOptions& options) {
  if (const double rate = rate_in_force(options); !(rate >= 0.0 && rate <= 1e6)) {
    throw usage_error("--lr takes a number from 0 to 1e6");
  }
  if (!(options.weight_decay >= 0.0 && options.clip_norm >= 0.0)) {
    throw usage_error("--weight-decay and --clip-norm take a number of at least 0");
  }
  if (options.target_accuracy && !(*options.target_accuracy > 0 && *options.target_accuracy <= 1)) {
    throw usage_error("--target-accuracy takes a number from 0 to 1, such as 0.84");
  }
  if (options.past_target && !options.target_accuracy) {
    throw usage_error("--past-target without --target-accuracy: there is nothing to go past");
  }
  if (options.sampling != "epoch" && options.sampling != "replacement") {
    throw usage_error("--sampling is '" + options.sampling + "'; it takes epoch or replacement");
  }
  if (!options.reduce.empty() && options.reduce != "order" && options.reduce != "arrival") {
    throw usage_error("--reduce is '" + options.reduce + "'; it takes order or arrival");
  }
}

// Which gradients count, and when.
void add_policy_options(CLI::App& command, JobOptions& options) {
  command.add_option(
      "--policy", options.policy, "How long to wait, e.g. backup:cutoff=6; see `outpace policies`");
  command.add_flag("--balance",
                   options.balance,
                   "Mini-batches in proportion to the workers' speeds (LB-BSP), under any policy");
  command.add_option("--balance-most",
                     options.balance_most,
                     "Largest mini-batch under --balance, in multiples of --batch (default: 4)");
  command.add_option(
      "--runtime-model",
      options.runtime_model,
      "For --policy dynamic: a file of `outpace fit`, so that it knows the cluster's "
      "runtimes beforehand");
  command.add_option(
      "--staleness",
      options.staleness,
      "What is done about staleness: none, inverse, exponential, polynomial, dynsgd, "
      "gap, dcasgd:form=adaptive (default: inverse for asynchronous policies)");
}

}  // namespace

void add_training_options(CLI::App& command, JobOptions& options) {
  command.option_defaults()->always_capture_default();
  command.add_option("--workers", options.workers, "Workers; the run starts when all have joined");
  add_policy_options(command, options);
  command.add_option(
      "--optimizer",
      options.optimizer,
      "sgd, momentum:mu=0.9, nesterov, adam, adamw, lamb, yellowfin:gamma=0.01,tau=T");
  command.add_option("--lr",
                     options.rate,
                     "Learning rate (default: 0.1; yellowfin: 1, a factor on the rate it finds)");
  command.add_option(
      "--schedule",
      options.schedule,
      "constant, step:every=E,factor=F, cosine:over=E; each with warmup=E (examples)");
  command.add_option("--lr-scale",
                     options.rate_scale,
                     "none, sqrt or linear in accepted over nominal examples of an update");
  command.add_option("--weight-decay", options.weight_decay, "L2; decoupled in adamw");
  command.add_option(
      "--clip-norm", options.clip_norm, "Clip each gradient to this norm; 0: do not");
  command.add_option(
      "--filter",
      options.filter,
      "Against workers that send wrong gradients: kardam:f=2 for asynchronous policies; median, "
      "trimmed:f=2, krum:f=2 for updates of several gradients");
  command.add_option("--batch", options.batch, "Examples in a worker's mini-batch");
  command.add_option("--seed", options.seed, "Of the initial weights and the examples' order");
  command.add_option("--sampling",
                     options.sampling,
                     "epoch: every example exactly once an epoch; replacement: at random");
  command.add_option("--reduce",
                     options.reduce,
                     "order: add gradients in worker order, repeatable to the bit; arrival: in one "
                     "buffer (default: order for sync and backup)");
  command.add_option("--updates", options.updates, "End after so many updates; 0: no limit");
  command.add_option(
      "--iterations", options.iterations, "End after so many gradients; 0: no limit");
  command.add_option(
      "--epochs", options.epochs, "End after so many passes over the data; 0: no limit");
  command.add_option("--seconds", options.seconds, "End after so long, e.g. 90s; 0s: no limit");
  command.add_option(
      "--target-accuracy", options.target_accuracy, "End when the test accuracy is reached");
  command.add_option(
      "--consecutive", options.consecutive, "Evaluations in a row that must reach the target");
  command.add_flag(
      "--past-target", options.past_target, "Say when the target is reached, but go on to the end");
  command.add_option(
      "--evaluate-every", options.evaluate_every, "Applied examples between evaluations");
  command.add_option("--trace",
                     options.trace,
                     "Write a Chrome trace of tasks, updates and simulated links to this file; see "
                     "ui.perfetto.dev");
  command.add_flag(
      "--json", options.json, "Print the result as one JSON object on standard output");
}

void add_job_options(CLI::App& command, JobOptions& options) {
  add_training_options(command, options);
  command.add_option("--weights", options.weights, "Start from this safetensors file");
  command.add_option(
      "--min-workers", options.min_workers, "With fewer for --patience the run fails (exit 5)");
  command.add_option(
      "--heartbeat-timeout", options.heartbeat_timeout, "A worker silent so long is dead");
  command.add_option("--patience", options.patience, "How long to wait for workers to come");
  command.add_option("--listen", options.listen, "HOST:PORT or unix:PATH; port 0 takes a free one");
  command.add_flag("--insecure-no-tls",
                   options.insecure_no_tls,
                   "Allow --listen beyond this machine: traffic and token travel unencrypted");
  command.add_option("--out", options.out, "The run's directory (default: runs/TIME-POLICY)");
}

void add_delay_options(CLI::App& command, WorkOptions& options) {
  command.add_option(
      "--delays",
      options.delays,
      "Stragglers on demand: CSV, a column a worker, a value the seconds that a full "
      "mini-batch takes");
  command.add_option("--delays-by",
                     options.delays_by,
                     "time: row = elapsed / period, a slow period lasts whoever waits; iteration: "
                     "row = the worker's own iteration");
  command.add_option("--delays-period", options.delays_period, "How long a row lasts, by time");
  command.add_option(
      "--slow", options.slow, "Make a worker slower: worker=3,factor=4 (repeatable)");
}

void add_attack_option(CLI::App& command, WorkOptions& options) {
  command.add_option("--attack",
                     options.attacks,
                     "Workers that send wrong gradients on purpose: "
                     "signflip:workers=0+1,scale=10, noise, zero or nan (repeatable)");
}

void add_work_options(CLI::App& command, WorkOptions& options) {
  command.option_defaults()->always_capture_default();
  command.add_option("--network", options.network, kNetworks);
  command.add_option("--data", options.data, kDataSets);
  command.add_option("--paced",
                     options.paced,
                     "Wait as long as the iterations of this profile took, instead of computing; "
                     "what is pushed has the size of its network's gradient");
  command.add_option("--threads", options.threads, "Of libtorch, per worker");
  add_delay_options(command, options);
  add_attack_option(command, options);
}

double slow_factor(const WorkOptions& options, std::uint32_t worker, std::uint32_t workers) {
  std::vector<worker::Slow> slow;
  slow.reserve(options.slow.size());
  for (const std::string& text : options.slow) {
    slow.push_back(worker::Slow::parse(text, workers));
  }
  return worker::slow_factor(slow, WorkerId{worker});
}

bool waits_longer(const WorkOptions& options) {
  return !options.paced.empty() && options.delays.empty();
}

worker::Pace make_pace(const WorkOptions& options, std::uint32_t worker, std::uint32_t workers) {
  if (options.delays_by != "time" && options.delays_by != "iteration") {
    throw usage_error("--delays-by is '" + options.delays_by + "'; it takes time or iteration");
  }
  worker::PaceOptions pace{
      .by = options.delays_by == "time" ? worker::DelaysBy::kTime : worker::DelaysBy::kIteration,
      .period = duration_option("delays-period", options.delays_period),
      .factor = slow_factor(options, worker, workers)};
  if (waits_longer(options)) {
    pace.factor = 1.0;
  }
  if (pace.period <= Duration{}) {
    throw usage_error("--delays-period must be longer than 0");
  }
  if (options.delays.empty()) {
    return worker::Pace(pace);
  }
  const auto trace =
      worker::DelayTrace::parse(read_file("delays", options.delays), options.delays, workers);
  return {trace, WorkerId{worker}, pace};
}

std::vector<worker::Attack> parse_attacks(const WorkOptions& options, std::uint32_t workers) {
  std::vector<worker::Attack> attacks;
  attacks.reserve(options.attacks.size());
  for (const std::string& text : options.attacks) {
    attacks.push_back(worker::Attack::parse(text, workers));
  }
  return attacks;
}

void check_work_options(const WorkOptions& options, std::uint32_t workers) {
  (void)make_pace(options, 0, workers);
  (void)parse_attacks(options, workers);
  if (options.threads < 1) {
    throw usage_error("--threads takes at least 1");
  }
}

std::string staleness_in_force(const JobOptions& options) {
  const Spec policy = Spec::parse(options.policy);
  const policy::Entry& entry = policy::find(policy.name);
  if (policy::weighs_staleness_itself(policy)) {
    if (!options.staleness.empty() && options.staleness != "none") {
      throw usage_error("--staleness " + options.staleness + " beside --policy " + options.policy +
                        ": this policy weighs staleness itself; leave --staleness out");
    }
    return "none";
  }
  if (!options.staleness.empty()) {
    return options.staleness;
  }
  return entry.asynchronous ? "inverse" : "none";
}

double rate_in_force(const JobOptions& options) {
  const bool finds_its_own = Spec::parse(options.optimizer).name == "yellowfin";
  return options.rate.value_or(finds_its_own ? 1.0 : 0.1);
}

std::string read_file(const std::string& option, const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw usage_error("--" + option + " " + path + ": cannot be read, or is empty");
  }
  return text.str();
}

void check_jobs(std::uint32_t jobs) {
  constexpr std::uint32_t kJobsMost = 256;
  if (jobs < 1 || jobs > kJobsMost) {
    throw usage_error(fmt::format("--jobs is {}; it takes 1 to {}", jobs, kJobsMost));
  }
}

Duration duration_option(const std::string& name, const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration) {
    throw usage_error("--" + name + " is '" + text + "'; it takes a duration such as 20ms or 1.5s");
  }
  if (*duration > kDurationMost) {
    throw usage_error("--" + name + " is '" + text + "'; it takes ten years at most");
  }
  return *duration;
}

std::optional<policy::BalanceOptions> balance_in_force(const JobOptions& options) {
  if (!options.balance) {
    if (options.balance_most) {
      throw usage_error("--balance-most without --balance; add it, or leave this out");
    }
    return std::nullopt;
  }
  policy::BalanceOptions balance;
  balance.most = options.balance_most.value_or(balance.most);
  if (!(balance.most >= 1.0 && balance.most <= policy::kShareMost)) {
    throw usage_error(fmt::format(
        "--balance-most is {}; it takes a number from 1 to {}", balance.most, policy::kShareMost));
  }
  return balance;
}

namespace {

std::shared_ptr<const runtime_model::DeepWeights> fitted_model(const JobOptions& options,
                                                               const Spec& policy) {
  if (options.runtime_model.empty()) {
    return nullptr;
  }
  if (!policy::uses_fitted_model(policy)) {
    throw usage_error("--runtime-model beside --policy " + options.policy +
                      ": it is for dynamic with model=auto or model=deep; leave it out");
  }
  return std::make_shared<const runtime_model::DeepWeights>(
      record::read_runtime_model(options.runtime_model));
}

}  // namespace

void keep_runtime_model(const JobOptions& options, const record::RunDirectory& directory) {
  std::error_code failed;
  if (!options.runtime_model.empty() &&
      !std::filesystem::copy_file(options.runtime_model, directory.runtime_model(), failed)) {
    throw Error(ExitCode::kFailure,
                "cannot copy " + options.runtime_model + " to " +
                    directory.runtime_model().string() + ": " + failed.message());
  }
}

Training to_training(const JobOptions& options, std::uint32_t workers_max) {
  check_counts(options, workers_max);
  check_numbers(options);
  Training training;
  training.policy = Spec::parse(options.policy);
  const policy::Entry& entry = policy::find(training.policy.name);
  training.given = {.balance = balance_in_force(options),
                    .fitted = fitted_model(options, training.policy)};
  const auto policy =
      policy::make_policy(training.policy, options.workers, {.fitted = training.given.fitted});
  check_scales_once(options, *policy);
  const std::uint32_t cutoff = policy->nominal_cutoff(options.workers);
  training.coordinator = {
      .generation = 1,
      .workers = options.workers,
      .min_workers = options.min_workers,
      .batch = options.batch,
      .examples = 1,
      .seed = options.seed,
      .with_replacement = options.sampling == "replacement",
      .limits = limits_of(options),
      .staleness = update::StalenessRule::parse(Spec::parse(staleness_in_force(options))),
      .rate = rate_in_force(options),
      .schedule = update::Schedule::parse(Spec::parse(options.schedule)),
      .rate_scale = update::parse_rate_scale(options.rate_scale),
      .evaluate_every = options.evaluate_every,
      .heartbeat_timeout = duration_option("heartbeat-timeout", options.heartbeat_timeout),
      .patience = duration_option("patience", options.patience)};
  const bool in_order = options.reduce.empty() ? entry.keeps_slots : options.reduce == "order";
  training.shard = {.optimizer = Spec::parse(options.optimizer),
                    .staleness = training.coordinator.staleness,
                    .reduce = in_order ? update::Reduce::kWorkerOrder : update::Reduce::kArrival,
                    .weight_decay = options.weight_decay,
                    .clip_norm = options.clip_norm,
                    .filter = update::FilterRule::parse(Spec::parse(options.filter))};
  server::check(training.shard);
  update::check_suits(training.shard.filter,
                      {.policy = options.policy,
                       .asynchronous = entry.asynchronous,
                       .workers = options.workers,
                       .cutoff = cutoff,
                       .stale = training.shard.staleness});
  if (training.shard.filter.combines() && options.reduce == "arrival") {
    throw usage_error("--reduce arrival beside --filter " + options.filter +
                      ": this filter keeps all gradients of an update; leave --reduce out");
  }
  training.target = {.target = options.target_accuracy,
                     .consecutive = options.consecutive,
                     .ends = !options.past_target};
  return training;
}

bool is_local(const std::string& listen) {
  return listen.starts_with("unix:") || listen.starts_with("127.") ||
         listen.starts_with("localhost:") || listen.starts_with("[::1]:");
}

live::ServerOptions to_server_options(const JobOptions& options) {
  Training training = to_training(options, protocol::kWorkersMax);
  live::ServerOptions server;
  server.policy = std::move(training.policy);
  server.policy_inputs = std::move(training.given);
  server.coordinator = training.coordinator;
  server.coordinator.job = draw_job();
  server.shard = std::move(training.shard);
  server.target = training.target;
  server.listen = options.listen;
  if (!options.listen.empty() && !is_local(options.listen) && !options.insecure_no_tls) {
    throw usage_error("--listen " + options.listen +
                      " reaches beyond this machine, and there is no TLS yet: the token would "
                      "travel unencrypted; if you accept that, add --insecure-no-tls");
  }
  if (!options.weights.empty()) {
    record::Weights loaded = record::read_safetensors(options.weights);
    server.manifest = std::move(loaded.manifest);
    server.weights = std::move(loaded.numbers);
  }
  return server;
}

}  // namespace outpace::cli
