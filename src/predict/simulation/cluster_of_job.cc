#include "simulation/cluster_of_job.h"

#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "links/platform.h"
#include "links/shapes.h"
#include "sim/placement.h"
#include "sim/runtimes.h"

namespace outpace::simulation {
namespace {

links::Topology make_topology(const job::SimulateJob& job, const job::ReadFile& read_file) {
  const job::SimulatedLinks& options = job.links;
  const std::uint32_t workers = job::workers_at_most(job.training);
  if (options.platform.empty()) {
    return links::make_shape(options.shape.value_or(Spec::parse("star")),
                             {.hosts = std::uint64_t{workers} + options.shards,
                              .bandwidth = options.bandwidth->bytes_per_second});
  }
  links::Topology topology =
      links::parse_platform(read_file("platform", options.platform), options.platform);
  if (topology.hosts.size() < std::uint64_t{workers} + options.shards) {
    throw usage_error(
        "--platform " + options.platform + ": too few hosts, " +
        std::to_string(topology.hosts.size()) + "; the server" +
        (options.shards == 1 ? "" : "'s " + std::to_string(options.shards) + " shards") + " and " +
        std::to_string(workers) + " workers take one each");
  }
  return topology;
}

}  // namespace

std::unique_ptr<sim::Timing> make_timing(const job::SimulateJob& job,
                                         const job::ReadFile& read_file) {
  const std::uint32_t workers = job::workers_at_most(job.training);
  if (!job.delays.file.empty()) {
    return std::make_unique<sim::PacedTiming>(
        job::paces_of(job.delays, workers, read_file), job.cluster.compute, job.cluster.cores);
  }
  std::vector<double> factors;
  for (std::uint32_t worker = 0; worker < workers && !job.delays.slow.empty(); ++worker) {
    factors.push_back(job::slow_factor(job.delays, worker, workers));
  }
  auto drawn = std::make_unique<sim::DrawnTiming>(
      sim::Runtimes::parse(
          job.cluster.runtime.empty() ? job::kRuntimeByDefault : job.cluster.runtime,
          {.workers = workers,
           .seed = job.training.seed,
           .read_file =
               [&read_file](const std::string& path) { return read_file("runtime", path); }}),
      std::move(factors));
  if (job.training.local_steps) {
    return std::make_unique<sim::SteppedTiming>(std::move(drawn), *job.training.local_steps);
  }
  return drawn;
}

std::optional<sim::Transfers::Options> make_links(const job::SimulateJob& job,
                                                  const job::ReadFile& read_file) {
  if (!job.links.any()) {
    return std::nullopt;
  }
  sim::Transfers::Options links{.topology = make_topology(job, read_file),
                                .payload = job.links.payload ? job.links.payload->bytes : 0.0};
  links.window = job::window_bytes(job.links.send_window);
  links.servers = sim::place_shards(job.links.shards, job.links.server_hosts, links.topology);
  return links;
}

std::vector<sim::Fault> make_faults(const job::SimulateJob& job) {
  const std::uint32_t workers = job::workers_at_most(job.training);
  std::vector<sim::Fault> faults;
  std::set<WorkerId> join;
  for (const std::string& fault : job.cluster.faults) {
    faults.push_back(sim::parse_fault(fault, workers));
    if (faults.back().kind == sim::Fault::Kind::kJoin) {
      join.insert(faults.back().worker);
    }
  }
  for (std::uint32_t id = job.training.workers; id < workers; ++id) {
    if (!join.contains(WorkerId{id})) {
      faults.push_back(
          {.kind = sim::Fault::Kind::kJoin, .worker = WorkerId{id}, .at = sim::Fault::kNeverComes});
    }
  }
  return faults;
}

}  // namespace outpace::simulation
