#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/large_pages.h"
#include "cli/libtorch.h"
#include "cli/options.h"
#include "cli/simulated_links.h"
#include "cli/simulated_run.h"
#include "cli/swarm_run.h"
#include "policy/switch_spec.h"
#include "sim/cluster.h"

namespace outpace::cli {
namespace {

constexpr std::uint32_t kSimulatedWorkersMax = 1'000'000;

struct SimulateOptions {
  JobOptions job;
  WorkOptions work;  // Delays alone.
  SimulatedCluster cluster;
  LinkOptions links;
  std::string learn;
  std::string data = "fashion-mnist";
  std::uint64_t examples = 60'000;
  SwarmOptions swarm;
};

// What --learn asks for; empty without it.
struct Learner {
  std::unique_ptr<worker::GradientSource> gradients;
  std::unique_ptr<worker::Evaluator> evaluator;
  std::optional<sim::Learning> learning;

  explicit Learner(const SimulateOptions& options) {
    if (options.learn.empty()) {
      if (options.job.target_accuracy) {
        throw usage_error("--target-accuracy without --learn: nothing is learnt; add --learn mlp");
      }
      if (policy::waits_for_learning(Spec::parse(options.job.policy))) {
        throw usage_error("--policy '" + options.job.policy +
                          "' waits for a loss or an accuracy, and without --learn nothing is "
                          "learnt; add --learn mlp, or wait for updates or seconds");
      }
      return;
    }
    const Lesson lesson{.network = Spec::parse(options.learn),
                        .data = Spec::parse(options.data),
                        .seed = options.job.seed};
    gradients = make_gradients(lesson);
    evaluator = make_evaluator(lesson);
    learning.emplace(sim::Learning{*gradients, evaluator.get()});
  }
};

// Without gradients there is nothing to filter, or to send wrong.
void check_filter(const SimulateOptions& options) {
  for (const auto& [name, given] : {std::pair("--filter", options.job.filter != "none"),
                                    std::pair("--attack", !options.work.attacks.empty())}) {
    if (options.learn.empty() && given) {
      throw usage_error(std::string(name) +
                        " without --learn: there are no gradients; add --learn mlp");
    }
  }
  (void)parse_attacks(options.work, options.job.workers);
}

int simulate(const SimulateOptions& options, const std::string& resolved) {
  if (!options.learn.empty()) {
    require_libtorch("--learn " + options.learn);
  }
  ask_for_large_pages();
  Training training = to_training(options.job, kSimulatedWorkersMax);
  const std::unique_ptr<sim::Timing> timing =
      make_timing(options.cluster, options.work, options.job);
  const Duration apply = duration_option("apply", options.cluster.apply);
  check_oracle(options.cluster, options.job);
  check_filter(options);
  check_links(options.links, !options.learn.empty(), apply > Duration{});
  Learner learner(options);
  training.coordinator.examples =
      learner.gradients ? learner.gradients->dataset_examples() : options.examples;
  if (training.coordinator.examples < 1) {
    throw usage_error("--examples takes at least 1");
  }
  const protocol::Manifest* const manifest =
      learner.gradients ? &learner.gradients->manifest() : nullptr;
  auto links = make_links(options.links, options.job.workers, manifest);
  std::optional<sim::LinkUse> link_use;
  if (links && !options.job.trace.empty()) {
    links->use = &link_use.emplace(links->topology.links.size());
  }
  sim::ClusterOptions cluster{.policy = training.policy,
                              .policy_inputs = training.given,
                              .oracle = options.cluster.oracle,
                              .coordinator = training.coordinator,
                              .shard = training.shard,
                              .target = training.target,
                              .latency = duration_option("latency", options.cluster.latency),
                              .apply = apply / options.links.shards,  // All at the same time.
                              .attacks = parse_attacks(options.work, options.job.workers),
                              .links = links ? &*links : nullptr};
  for (const std::string& fault : options.cluster.faults) {
    cluster.faults.push_back(sim::parse_fault(fault, options.job.workers));
  }
  SimulatedRecord record(
      options.job, options.cluster.oracle ? "oracle" : options.job.policy, resolved);
  const auto begun = std::chrono::steady_clock::now();
  sim::Cluster run(cluster,
                   *timing,
                   learner.learning ? &*learner.learning : nullptr,
                   record.decided(),
                   [&record](const std::string& warning) { record.say(warning); });
  const sim::ClusterResult result = run.run();
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  record.finish(result,
                {.network = options.learn.empty() ? "none" : options.learn,
                 .data = options.learn.empty() ? "none" : options.data,
                 .manifest = manifest,
                 .links = cluster.links,
                 .wall_seconds = wall});
  if (result.code != ExitCode::kDone) {
    throw Error(result.code, result.why);
  }
  return 0;
}

// Throws what simulate() would before it begins, without loading what is learnt from.
void check(const SimulateOptions& options) {
  (void)to_training(options.job, kSimulatedWorkersMax);
  (void)make_timing(options.cluster, options.work, options.job);
  check_oracle(options.cluster, options.job);
  check_filter(options);
  (void)duration_option("apply", options.cluster.apply);
  (void)duration_option("latency", options.cluster.latency);
  for (const std::string& fault : options.cluster.faults) {
    (void)sim::parse_fault(fault, options.job.workers);
  }
  check_links(options.links,
              !options.learn.empty(),
              duration_option("apply", options.cluster.apply) > Duration{});
  if (!options.learn.empty()) {
    const protocol::Manifest manifest =
        learnt_manifest(Spec::parse(options.learn), Spec::parse(options.data));
    (void)make_links(options.links, options.job.workers, &manifest);
    return;
  }
  (void)Learner(options);
  (void)make_links(options.links, options.job.workers, nullptr);
}

// A swarm draws everything from its seeds; nothing else can be said.
void check_swarm(const SwarmOptions& options, const Origins& origins) {
  static const std::set<std::string> kOfSwarm{"swarm", "seeds", "time-budget", "jobs"};
  for (const auto& [name, origin] : origins) {
    if (options.swarm && !kOfSwarm.contains(name) && name != "json") {
      throw usage_error("--" + name +
                        " beside --swarm: a swarm draws it from each seed; leave one out");
    }
    if (!options.swarm && kOfSwarm.contains(name)) {
      throw usage_error("--" + name + " without --swarm; add it, or leave this out");
    }
  }
}

void add_options(CLI::App& command, SimulateOptions& options) {
  add_training_options(command, options.job);
  add_delay_options(command, options.work);
  add_attack_option(command, options.work);
  add_cluster_options(command, options.cluster);
  add_link_options(command, options.links);
  command.add_option("--learn",
                     options.learn,
                     "Compute every gradient of this network for real, on the weights of the right "
                     "version: " +
                         std::string(kNetworks));
  command.add_option("--data", options.data, "For --learn: " + std::string(kDataSets));
  command.add_option("--examples", options.examples, "Without --learn: in the data set");
  command.add_option("--out", options.job.out, "Record the run in this directory");
  command.add_option("--heartbeat-timeout",
                     options.job.heartbeat_timeout,
                     "With a fault that can silence a worker: one silent so long is dead");
  command.add_flag("--swarm",
                   options.swarm.swarm,
                   "Instead of one job, a random one for each seed, held to all invariants");
  // No defaults in the record of a single job, where these would be refused when it is read again.
  command
      .add_option("--seeds",
                  options.swarm.seeds,
                  "Of a swarm: FIRST..LAST, or one (default: " + options.swarm.seeds + ")")
      ->default_str("");
  command
      .add_option("--time-budget",
                  options.swarm.time_budget,
                  "Of a swarm: end after so long (default: 0s, do not)")
      ->default_str("");
  command.add_option("--jobs", options.swarm.jobs, "Of a swarm: seeds at a time (default: 1)")
      ->default_str("");
}

}  // namespace

void check_simulate(const std::vector<std::string>& words) {
  CLI::App command;
  SimulateOptions options;
  add_options(command, options);
  parse_words(command, words);
  check(options);
}

Run add_simulate(CLI::App& command) {
  auto options = std::make_shared<SimulateOptions>();
  add_options(command, *options);
  return [options](const CLI::App& chosen, const Origins& origins) {
    check_swarm(options->swarm, origins);
    if (options->swarm.swarm) {
      options->swarm.json = options->job.json;
      return run_swarm(options->swarm);
    }
    return simulate(*options, resolved_toml(chosen, origins));
  };
}

}  // namespace outpace::cli
