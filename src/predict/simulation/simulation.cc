#include "simulation/simulation.h"

#include <utility>

#include "sim/cluster.h"
#include "sim/cluster_observer.h"
#include "sim/link_use.h"
#include "simulation/cluster_of_job.h"

namespace outpace::simulation {
namespace {

constexpr double kBytesPerNumber = 4;  // float32

class Observed final : public sim::ClusterObserver {
 public:
  explicit Observed(const Listener& listener) : listener_(listener) {}

  void answered(Time /*now*/,
                const server::Input& /*input*/,
                const server::Effects& /*effects*/) override {}
  void greeted(Time /*now*/, const admission::Input& /*input*/) override {}
  void admitted(Time /*now*/, const admission::Effect& /*effect*/) override {}
  bool after(Time /*now*/,
             const server::Coordinator& coordinator,
             const server::Shard* /*shard*/) override {
    listener_.after(coordinator);
    return false;
  }
  void restarted(Time /*now*/) override { listener_.restarted(); }

 private:
  const Listener& listener_;
};

std::vector<LinkInUse> in_use(const links::Topology& topology,
                              const sim::LinkUse& use,
                              Time ended) {
  std::vector<LinkInUse> links;
  const Time begin{ended - use.end()};  // When the measurements begin; a job starts later.
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    std::vector<double> used = use.rates(links::LinkId(i));
    for (double& rate : used) {
      rate /= topology.links[i].bandwidth;
    }
    if (!used.empty()) {
      links.push_back({.name = topology.links[i].name,
                       .begin = begin,
                       .window = use.window(),
                       .used = std::move(used)});
    }
  }
  return links;
}

}  // namespace

Simulation::Simulation(const job::SimulateJob& job, const job::ReadFile& read_file)
    : job_(job),
      faults_(make_faults(job)),
      timing_(make_timing(job, read_file)),
      links_(make_links(job, read_file)) {}

Result Simulation::run(job::Resolved resolved, const Learning& learning, const Listener& listener) {
  std::optional<sim::Learning> learns;
  if (learning.gradients != nullptr) {
    learns.emplace(sim::Learning{*learning.gradients, learning.evaluator});
    if (links_) {
      links_->payload =
          kBytesPerNumber * static_cast<double>(learning.gradients->manifest().numbers());
    }
  }
  std::optional<sim::LinkUse> link_use;
  if (links_ && !job_.output.trace.empty()) {
    links_->use = &link_use.emplace(links_->topology.links.size());
  }
  Observed observed(listener);
  const sim::ClusterOptions options{
      .policy = std::move(resolved.policy),
      .policy_inputs = std::move(resolved.policy_inputs),
      .oracle = job_.cluster.oracle,
      .steps_ahead = job_.cluster.steps_ahead,
      .coordinator = resolved.coordinator,
      .shard = std::move(resolved.shard),
      .target = resolved.target,
      .latency = job_.cluster.latency,
      .apply = job_.cluster.apply / job_.links.shards,  // All at the same time.
      .faults = std::move(faults_),
      .attacks = job::parse_attacks(job_.attacks, job::workers_at_most(job_.training)),
      .packing = {.gradients = resolved.compress, .weights = resolved.compress_weights},
      .links = links_ ? &*links_ : nullptr,
      .observer = listener.after ? &observed : nullptr};
  sim::Cluster cluster(
      options, *timing_, learns ? &*learns : nullptr, listener.decided, listener.warned);
  sim::ClusterResult result = cluster.run();
  return {.code = result.code,
          .why = std::move(result.why),
          .statistics = std::move(result.statistics),
          .evaluations = std::move(result.evaluations),
          .reached_target = result.reached_target,
          .weights = std::move(result.weights),
          .ended = result.ended,
          .events = result.events,
          .hash = result.hash,
          .links = link_use ? in_use(links_->topology, *link_use, result.ended)
                            : std::vector<LinkInUse>{}};
}

}  // namespace outpace::simulation
