// Tested by test/program/simulate_test.py (class Peers).

#include "cli/simulated_peers_run.h"

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text_table.h"
#include "peer/outcome.h"
#include "record/output_file.h"
#include "record/peer_log.h"
#include "record/run_directory.h"
#include "run/whole_file.h"
#include "simulation/peers.h"

namespace outpace::cli {
namespace {

double seconds_of(const peer::Outcome& result) {
  return to_seconds(result.ended.time_since_epoch());
}

double rate_of(const peer::Outcome& result) {
  const double seconds = seconds_of(result);
  return seconds > 0.0 ? static_cast<double>(result.examples) / seconds : 0.0;
}

// A share of the time of all workers.
double waited_percent(const peer::Outcome& result) {
  double waited = 0.0;
  for (const peer::Outcome::Worker& worker : result.workers) {
    waited += to_seconds(worker.waited);
  }
  const double all = seconds_of(result) * static_cast<double>(result.workers.size());
  return all > 0.0 ? 100.0 * waited / all : 0.0;
}

std::string table_of(const job::SimulateJob& job, const peer::Outcome& result) {
  const bool ring = job.peers.topology == job::Topology::kRing;
  TextTable table(ring ? std::vector<TextTable::Column>{{"worker"}, {"gradients"}, {"waited"}, {""}}
                       : std::vector<TextTable::Column>{
                             {"worker"}, {"gradients"}, {"meetings"}, {"waited"}, {""}});
  for (std::size_t id = 0; id < result.workers.size(); ++id) {
    const peer::Outcome::Worker& worker = result.workers[id];
    std::vector<std::string> cells{std::to_string(id), std::to_string(worker.gradients)};
    if (!ring) {
      cells.push_back(std::to_string(worker.meetings));
    }
    cells.push_back(fmt::format("{:.4g} s", to_seconds(worker.waited)));
    cells.emplace_back(worker.lost ? "lost" : "");
    table.add_row(cells);
  }
  return table.text();
}

void print(const job::SimulateJob& job, const peer::Outcome& result) {
  fmt::print("{}: {}\n", job::Value<job::Topology>::text(job.peers.topology), result.why);
  fmt::print("{:.6g} simulated seconds, {} updates, {} gradients, {} examples: {:.4g} examples/s\n",
             seconds_of(result),
             result.updates,
             result.gradients,
             result.examples,
             rate_of(result));
  fmt::print("gradients that were ready waited for {:.3g} % of the workers' time\n",
             waited_percent(result));
  const peer::Outcome::Counts& counts = result.counts;
  fmt::print("{} group{} formed; {} crashed, {} silent, {} connections closed, {} messages late\n",
             result.groups,
             result.groups == 1 ? "" : "s",
             counts.crashed,
             counts.silenced,
             counts.connections,
             counts.delayed);
  fmt::print("no invariant was broken in {} events; event log {:016x}\n\n{}",
             result.events,
             result.hash,
             table_of(job, result));
  if (!job.output.out.empty()) {
    fmt::print("run directory: {}\n", job.output.out);
  }
}

nlohmann::ordered_json to_json(const job::SimulateJob& job, const peer::Outcome& result) {
  nlohmann::ordered_json workers = nlohmann::ordered_json::array();
  for (const peer::Outcome::Worker& worker : result.workers) {
    workers.push_back({{"lost", worker.lost},
                       {"gradients", worker.gradients},
                       {"meetings", worker.meetings},
                       {"waited_seconds", to_seconds(worker.waited)}});
  }
  return {{"topology", job::Value<job::Topology>::text(job.peers.topology)},
          {"reason", result.why},
          {"simulated_seconds", seconds_of(result)},
          {"updates", result.updates},
          {"gradients", result.gradients},
          {"examples", result.examples},
          {"examples_per_second", rate_of(result)},
          {"waited_percent", waited_percent(result)},
          {"groups", result.groups},
          {"crashed", result.counts.crashed},
          {"silent", result.counts.silenced},
          {"connections_closed", result.counts.connections},
          {"messages_late", result.counts.delayed},
          {"caught_up", result.counts.caught_up},
          {"broken_sums", result.counts.broken_sums},
          {"events", result.events},
          {"event_log_hash", fmt::format("{:016x}", result.hash)},
          {"workers", workers}};
}

peer::Outcome run_recorded(const job::SimulateJob& job,
                           simulation::Peers& peers,
                           const std::string& resolved) {
  const auto directory = record::RunDirectory::create_at(job.output.out);
  record::write_atomically(directory.config(), resolved);
  record::PeerLog log(directory.peer_decisions(std::nullopt), peers.setting());
  const auto decided = [&log](Time now,
                              std::optional<WorkerId> worker,
                              const std::string& event,
                              const std::string& what) { log.append(now, worker, event, what); };
  peer::Outcome result = peers.run(decided);
  log.close();
  record::write_atomically(directory.summary(), to_json(job, result).dump(2) + "\n");
  return result;
}

}  // namespace

int simulate_peers(const job::SimulateJob& job, const std::string& resolved) {
  simulation::Peers peers(job, run::whole_file);
  const peer::Outcome result =
      job.output.out.empty() ? peers.run(nullptr) : run_recorded(job, peers, resolved);
  if (job.output.json) {
    fmt::print("{}\n", to_json(job, result).dump());
  } else {
    print(job, result);
  }
  std::fflush(stdout);
  if (result.code != ExitCode::kDone) {
    throw Error(result.code, result.why);
  }
  return 0;
}

}  // namespace outpace::cli
