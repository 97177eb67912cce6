// Tested by test/program/simulate_test.py (class Simulated).

#include "run/simulated_run.h"

#include <chrono>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "run/server_run.h"
#include "run/whole_file.h"
#include "server/script.h"

namespace outpace::run {
namespace {

// What --learn asks for; empty without it.
struct Learning {
  std::unique_ptr<worker::GradientSource> gradients;
  std::unique_ptr<worker::Evaluator> evaluator;
  std::optional<sim::Learning> learning;

  Learning(const job::SimulateJob& job, const Learner& learner) {
    if (!job.learn) {
      return;
    }
    const Lesson lesson{.network = *job.learn, .data = job.data, .seed = job.training.seed};
    gradients = learner.gradients(lesson);
    evaluator = learner.evaluator(lesson);
    learning.emplace(sim::Learning{*gradients, evaluator.get()});
  }
};

job::Resolved resolve(const job::SimulateJob& job) {
  return job::resolve(
      job.training,
      {.heartbeat_timeout = job.heartbeat_timeout, .progress_timeout = job.progress_timeout},
      read_resolve_options(job.training, job::kSimulatedWorkersMax));
}

sim::ClusterOptions cluster_options(const job::SimulateJob& job, job::Resolved resolved) {
  sim::ClusterOptions cluster{
      .policy = std::move(resolved.policy),
      .policy_inputs = std::move(resolved.policy_inputs),
      .oracle = job.cluster.oracle,
      .steps_ahead = job.cluster.steps_ahead,
      .coordinator = resolved.coordinator,
      .shard = std::move(resolved.shard),
      .target = resolved.target,
      .latency = job.cluster.latency,
      .apply = job.cluster.apply / job.links.shards,  // All at the same time.
      .attacks = job::parse_attacks(job.attacks, job::workers_at_most(job.training)),
      .packing = {.gradients = resolved.compress, .weights = resolved.compress_weights}};
  std::set<WorkerId> join;
  for (const std::string& fault : job.cluster.faults) {
    cluster.faults.push_back(sim::parse_fault(fault, job::workers_at_most(job.training)));
    if (cluster.faults.back().kind == sim::Fault::Kind::kJoin) {
      join.insert(cluster.faults.back().worker);
    }
  }
  for (std::uint32_t id = job.training.workers; id < job::workers_at_most(job.training); ++id) {
    if (!join.contains(WorkerId{id})) {
      cluster.faults.push_back(
          {.kind = sim::Fault::Kind::kJoin, .worker = WorkerId{id}, .at = sim::Fault::kNeverComes});
    }
  }
  return cluster;
}

}  // namespace

void check(const job::SimulateJob& job, const Learner& learner) {
  const job::Resolved resolved = resolve(job);
  job::check(job);
  (void)job::make_timing(job, whole_file);
  std::optional<protocol::Manifest> manifest;
  if (job.learn) {
    Layout layout = learner.layout(*job.learn, job.data);
    server::check(server::with_script(resolved.shard, layout.script));
    manifest = std::move(layout.manifest);
  }
  (void)job::make_links(job, manifest ? &*manifest : nullptr, whole_file);
}

SimulatedRun simulate(const job::SimulateJob& job,
                      const std::string& resolved_text,
                      const Learner& learner) {
  job::Resolved resolved = resolve(job);
  job::check(job);
  const std::unique_ptr<sim::Timing> timing = job::make_timing(job, whole_file);
  Learning learning(job, learner);
  resolved.coordinator.examples =
      learning.gradients ? learning.gradients->dataset_examples() : job.examples;
  const protocol::Manifest* const manifest =
      learning.gradients ? &learning.gradients->manifest() : nullptr;
  auto links = job::make_links(job, manifest, whole_file);
  std::optional<sim::LinkUse> link_use;
  if (links && !job.output.trace.empty()) {
    links->use = &link_use.emplace(links->topology.links.size());
  }
  sim::ClusterOptions cluster = cluster_options(job, std::move(resolved));
  cluster.links = links ? &*links : nullptr;
  SimulatedRecord record(
      job, job.cluster.oracle ? "oracle" : job.training.policy.text, resolved_text);
  cluster.observer = record.observer();
  const auto begun = std::chrono::steady_clock::now();
  sim::Cluster run(cluster,
                   *timing,
                   learning.learning ? &*learning.learning : nullptr,
                   record.decided(),
                   [](const std::string& warning) { fmt::print(stderr, "{}\n", warning); });
  sim::ClusterResult result = run.run();
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  SimulatedEnd end = record.finish(result,
                                   {.network = job.learn ? job.learn->text : "none",
                                    .data = job.learn ? job.data.text : "none",
                                    .manifest = manifest,
                                    .links = cluster.links,
                                    .wall_seconds = wall});
  return {.result = std::move(result), .end = std::move(end), .wall_seconds = wall};
}

}  // namespace outpace::run
