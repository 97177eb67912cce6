// Tested by test/program/simulate_test.py (class Simulated).

#include "run/simulated_record.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/metrics.h"
#include "record/output_file.h"
#include "record/runtime_table.h"
#include "record/safetensors.h"
#include "run/keep_runtime_model.h"
#include "run/open_trace.h"
#include "run/trace_links.h"

namespace outpace::run {
namespace {

record::Summary summary_of(const job::SimulateJob& job,
                           const std::string& policy,
                           const sim::ClusterResult& result,
                           const SimulatedRecord::About& about) {
  record::Summary summary{.policy = policy,
                          .staleness = job::staleness_in_force(job.training).text,
                          .optimizer = job.training.optimizer.text,
                          .lr = job::rate_in_force(job.training),
                          .filter = job.training.filter.text,
                          .network = about.network,
                          .data = about.data,
                          .workers = job.training.workers,
                          .seconds = to_seconds(result.statistics.last_commit),
                          .statistics = result.statistics,
                          .evaluations = result.evaluations,
                          .target = job.training.target_accuracy,
                          .why_ended = result.why};
  if (const auto balance = job::balance_in_force(job.training)) {
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

SimulatedRecord::SimulatedRecord(const job::SimulateJob& job,
                                 const std::string& policy,
                                 const std::string& resolved)
    : job_(job), policy_(policy) {
  if (!job.output.out.empty()) {
    directory_ = record::RunDirectory::create_at(job.output.out);
  }
  trace_ = open_trace(
      job.output.trace,
      job.training.policy.text);  // Not before: a refused run leaves an older trace alone.
  if (directory_) {
    keep_runtime_model(job.training.runtime_model, *directory_);
    record::write_atomically(directory_->config(), resolved);
    decisions_.emplace(directory_->decisions(),
                       record::DecisionLogHeader{.policy = policy,
                                                 .workers = job.training.workers,
                                                 .balance = job::balance_in_force(job.training)});
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

SimulatedEnd SimulatedRecord::finish(const sim::ClusterResult& result, const About& about) {
  SimulatedEnd end{.summary = summary_of(job_, policy_, result, about)};
  end.json = to_json(end.summary, result, about.wall_seconds);
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
    record::write_atomically(directory_->summary(), end.json.dump(2) + "\n");
    end.directory = directory_->path().string();
  }
  return end;
}

}  // namespace outpace::run
