#include "cli/simulated_run.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/open_trace.h"
#include "cli/simulated_links.h"
#include "record/metrics.h"
#include "record/output_file.h"
#include "record/runtime_table.h"
#include "record/safetensors.h"
#include "record/summary.h"
#include "record/worker_table.h"

namespace outpace::cli {
namespace {

constexpr const char* kRuntimeByDefault = "lognormal(mean=100ms,cv=0.3)";

record::Summary summary_of(const JobOptions& options,
                           const std::string& policy,
                           const sim::ClusterResult& result,
                           const SimulatedRecord::About& about) {
  record::Summary summary{.policy = policy,
                          .staleness = staleness_in_force(options),
                          .optimizer = options.optimizer,
                          .lr = rate_in_force(options),
                          .filter = options.filter,
                          .network = about.network,
                          .data = about.data,
                          .workers = options.workers,
                          .seconds = to_seconds(result.statistics.last_commit),
                          .statistics = result.statistics,
                          .evaluations = result.evaluations,
                          .target = options.target_accuracy,
                          .why_ended = result.why};
  if (const auto balance = balance_in_force(options)) {
    summary.balance_most = balance->most;
  }
  if (result.reached_target) {
    summary.seconds_to_target = to_seconds(*result.reached_target);
  }
  if (!result.evaluations.empty()) {
    summary.final_accuracy = result.evaluations.back().accuracy;
    summary.final_loss = result.evaluations.back().loss;
  }
  return summary;
}

nlohmann::ordered_json to_json(const record::Summary& summary,
                               const sim::ClusterResult& result,
                               double wall_seconds) {
  nlohmann::ordered_json json = record::to_json(summary);
  json["simulated_seconds"] = to_seconds(result.ended);
  json["wall_seconds"] = wall_seconds;
  json["events"] = result.events;
  json["event_log_hash"] = fmt::format("{:016x}", result.hash);
  return json;
}

}  // namespace

void add_cluster_options(CLI::App& command, SimulatedCluster& options) {
  command.option_defaults()->always_capture_default();
  command.add_option("--runtime",
                     options.runtime,
                     "How long workers take for a mini-batch: a distribution, or classes such as "
                     "'28*lognormal(mean=100ms,cv=0.3),2*constant(400ms)' (default: " +
                         std::string(kRuntimeByDefault) + ")");
  command.add_option(
      "--compute", options.compute, "With --delays: what computing a mini-batch takes on top");
  command.add_option("--cores",
                     options.cores,
                     "With --compute: workers share so many processors; 0: each has its own");
  command.add_option("--latency", options.latency, "Of every message, each way");
  command.add_option("--apply",
                     options.apply,
                     "What the server needs for a gradient, divided by --shards; gradients queue "
                     "for it");
  command.add_flag("--oracle",
                   options.oracle,
                   "With --policy sync: whom an update waits for is decided by one who knows when "
                   "each worker will be done, for the most gradients a second: a bound");
  command.add_option(
      "--fault",
      options.faults,
      "crash, leave, slow, pause, partition, clog, delay, lose, duplicate or reorder, "
      "such as crash:worker=3,at=10s,for=5s; docs/simulation.md lists their options "
      "(repeatable)");
}

void check_oracle(const SimulatedCluster& cluster, const JobOptions& job) {
  if (cluster.oracle && job.policy != "sync") {
    throw usage_error("--oracle beside --policy " + job.policy +
                      ": it decides for whom a synchronous update waits; say --policy sync");
  }
}

std::unique_ptr<sim::Timing> make_timing(const SimulatedCluster& cluster,
                                         const WorkOptions& delays,
                                         const JobOptions& job) {
  if (delays.delays.empty()) {
    if (duration_option("compute", cluster.compute) != Duration{} || cluster.cores != 0) {
      throw usage_error("--compute and --cores go with --delays; --runtime says all that it takes");
    }
    std::vector<worker::Slow> slow;
    for (const std::string& text : delays.slow) {
      slow.push_back(worker::Slow::parse(text, job.workers));
    }
    std::vector<double> factors;
    for (std::uint32_t worker = 0; worker < job.workers && !slow.empty(); ++worker) {
      factors.push_back(worker::slow_factor(slow, WorkerId{worker}));
    }
    return std::make_unique<sim::DrawnTiming>(
        sim::Runtimes::parse(
            cluster.runtime.empty() ? kRuntimeByDefault : cluster.runtime,
            {.workers = job.workers,
             .seed = job.seed,
             .read_file = [](const std::string& path) { return read_file("runtime", path); }}),
        std::move(factors));
  }
  if (!cluster.runtime.empty()) {
    throw usage_error("--runtime beside --delays: both say how long workers take; leave one out");
  }
  std::vector<worker::Pace> paces;
  for (std::uint32_t worker = 0; worker < job.workers; ++worker) {
    paces.push_back(make_pace(delays, worker, job.workers));
  }
  return std::make_unique<sim::PacedTiming>(
      std::move(paces), duration_option("compute", cluster.compute), cluster.cores);
}

SimulatedRecord::SimulatedRecord(const JobOptions& options,
                                 const std::string& policy,
                                 const std::string& resolved)
    : options_(options), policy_(policy) {
  if (!options.out.empty()) {
    directory_ = record::RunDirectory::create_at(options.out);
  }
  trace_ = open_trace(options);  // Not before: a refused run leaves an older trace alone.
  if (directory_) {
    keep_runtime_model(options, *directory_);
    record::write_atomically(directory_->config(), resolved);
    decisions_.emplace(
        directory_->decisions(),
        record::DecisionLogHeader{
            .policy = policy, .workers = options.workers, .balance = balance_in_force(options)});
  }
}

sim::Cluster::Decided SimulatedRecord::decided() {
  if (!decisions_ && !trace_) {
    return nullptr;
  }
  return [this](Time now, const policy::Event& event, const policy::Decision& decision) {
    if (decisions_) {
      decisions_->append(now, event, decision);
    }
    if (trace_) {
      trace_->append(now, event, decision);
    }
  };
}

void SimulatedRecord::say(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

void SimulatedRecord::keep_what_was_learnt(const sim::ClusterResult& result, const About& about) {
  if (about.manifest == nullptr) {
    return;
  }
  record::MetricsWriter metrics(directory_->metrics());
  for (const server::Evaluation& evaluation : result.evaluations) {
    metrics.append(evaluation);
  }
  metrics.close();
  record::write_safetensors(directory_->weights(),
                            *about.manifest,
                            result.weights,
                            {{"format", "pt"},
                             {"network", about.network},
                             {"version", std::to_string(result.statistics.updates)}});
}

void SimulatedRecord::finish(const sim::ClusterResult& result, const About& about) {
  const record::Summary summary = summary_of(options_, policy_, result, about);
  const nlohmann::ordered_json json = to_json(summary, result, about.wall_seconds);
  std::FILE* people = options_.json ? stderr : stdout;
  fmt::print(people, "{}", record::worker_table(summary));
  fmt::print(people,
             "{:.6g} simulated seconds in {:.3g} s; {} events, {:.3g} million/s; event log {}\n",
             to_seconds(result.ended),
             about.wall_seconds,
             result.events,
             1e-6 * static_cast<double>(result.events) / about.wall_seconds,
             json["event_log_hash"].get<std::string>());
  if (trace_) {
    if (about.links != nullptr) {
      trace_links(*about.links, result.ended, *trace_);
    }
    trace_->close();
  }
  if (directory_) {
    decisions_->close();
    keep_what_was_learnt(result, about);
    record::write_runtimes(directory_->runtimes(), result.statistics.workers);
    record::write_atomically(directory_->summary(), json.dump(2) + "\n");
    fmt::print(people, "run directory: {}\n", directory_->path().string());
  }
  std::fflush(people);
  if (options_.json) {
    fmt::print("{}\n", json.dump());
    std::fflush(stdout);
  }
}

}  // namespace outpace::cli
