// Tested by test/program/simulate_test.py (class Simulated).

#include "run/simulated_record.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "dashboard/recorded_page.h"
#include "record/metrics.h"
#include "record/output_file.h"
#include "record/runtime_table.h"
#include "record/safetensors.h"
#include "run/keep_runtime_model.h"
#include "run/kept_decisions.h"
#include "run/open_trace.h"

namespace outpace::run {
namespace {

record::Summary summary_of(const job::SimulateJob& job,
                           const std::string& policy,
                           const simulation::Result& result,
                           const SimulatedRecord::About& about) {
  record::Summary summary{.policy = policy,
                          .staleness = job::staleness_in_force(job.training),
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
  if (job.training.local_steps) {
    summary.local_steps = job.training.local_steps;
    summary.outer_optimizer = job::outer_optimizer_in_force(job.training);
  }
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
                               const simulation::Result& result,
                               double wall_seconds) {
  nlohmann::ordered_json json = record::to_json(summary);
  json["simulated_seconds"] = to_seconds(result.ended);
  json["wall_seconds"] = wall_seconds;
  json["events"] = result.events;
  json["event_log_hash"] = fmt::format("{:016x}", result.hash);
  return json;
}

}  // namespace

BoardFeed::BoardFeed(watch::About about) : board_(std::move(about), {.whole = true}) {}

void BoardFeed::decided(Time now, const policy::Event& event, const policy::Decision& decision) {
  ++decisions_;
  board_.decided(now, event, decision.actions, {.reason = decision.reason, .words = {}});
}

// A forecast costs far more than a decision, and only the last one is kept: it is of the last part
// of the run.
void BoardFeed::after(const server::Coordinator& coordinator) {
  constexpr std::uint64_t kPart = 64;
  if (decisions_ >= next_look_ && coordinator.live() > 0) {
    next_look_ = decisions_ + 1 + decisions_ / kPart;
    if (policy::Outlook expected; coordinator.outlook(expected)) {
      board_.outlook(std::move(expected));
    }
  }
}

void BoardFeed::restarted() {
  board_.goes_on(board_.now(), board_.sums().version);
}

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
    decisions_.emplace(directory_->decisions(), header_of(job.training, policy));
    if (job.training.workers <= watch::kShownMost) {
      shown_ =
          std::make_unique<BoardFeed>(watch::About{.name = policy,
                                                   .run = directory_->path().string(),
                                                   .workers = job.training.workers,
                                                   .policy = job.cluster.oracle ? "" : policy,
                                                   .target = job.training.target_accuracy,
                                                   .target_updates = job.training.limits.updates,
                                                   .staleness_bound = 0});
    }
  }
}

simulation::Listener SimulatedRecord::listener() {
  simulation::Listener listener{
      .decided = [this](Time now,
                        const policy::Event& event,
                        const policy::Decision& decision) { decided(now, event, decision); },
      .warned = [](const std::string& warning) { fmt::print(stderr, "{}\n", warning); }};
  if (shown_) {
    listener.after = [this](const server::Coordinator& coordinator) { shown_->after(coordinator); };
    listener.restarted = [this] { shown_->restarted(); };
  }
  return listener;
}

void SimulatedRecord::decided(Time now,
                              const policy::Event& event,
                              const policy::Decision& decision) {
  deaths_.follow(event, decision.actions);
  if (decisions_) {
    decisions_->append(now, event, decision);
  }
  if (trace_) {
    trace_->append(now, event, decision);
  }
  if (shown_) {
    shown_->decided(now, event, decision);
  }
}

void SimulatedRecord::keep_what_was_learnt(const simulation::Result& result, const About& about) {
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

void SimulatedRecord::keep_page(const simulation::Result& result, const About& about) {
  watch::Board& board = shown_->board();
  board.is_of(about.network, about.data);
  for (const server::Evaluation& found : result.evaluations) {
    board.evaluated({.seconds = to_seconds(found.committed),
                     .version = count(found.version),
                     .examples = found.examples,
                     .accuracy = found.accuracy,
                     .loss = found.loss,
                     .values = found.values});
  }
  board.ended(result.why);
  record::write_atomically(directory_->page(), dashboard::page_record(board, OUTPACE_VERSION));
}

SimulatedEnd SimulatedRecord::finish(const simulation::Result& result, const About& about) {
  SimulatedEnd end{.summary = summary_of(job_, policy_, result, about)};
  end.summary.died = deaths_.all();
  end.json = to_json(end.summary, result, about.wall_seconds);
  if (trace_) {
    for (const simulation::LinkInUse& link : result.links) {
      trace_->append_link(link.name, link.begin, link.window, link.used);
    }
    trace_->close();
  }
  if (directory_) {
    decisions_->close();
    keep_what_was_learnt(result, about);
    if (shown_) {
      keep_page(result, about);
    }
    record::write_runtimes(directory_->runtimes(), result.statistics.workers);
    record::write_atomically(directory_->summary(), end.json.dump(2) + "\n");
    end.directory = directory_->path().string();
  }
  return end;
}

}  // namespace outpace::run
