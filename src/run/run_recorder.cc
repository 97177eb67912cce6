// Tested by test/program/result_test.py (class Server).

#include "run/run_recorder.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <utility>

#include <spdlog/sinks/basic_file_sink.h>

#include "record/control_file.h"
#include "record/output_file.h"
#include "record/safetensors.h"
#include "record/stragglers.h"
#include "run/keep_runtime_model.h"
#include "run/open_trace.h"

namespace outpace::run {
namespace {

constexpr Duration kMetricsPeriod = std::chrono::seconds(1);
constexpr double kRateWindow = 2.0;  // Seconds.

record::RunDirectory make_directory(const RecordedJob& job) {
  if (!job.output.out.empty()) {
    return record::RunDirectory::create_at(job.output.out);
  }
  return record::RunDirectory::create("runs", std::chrono::system_clock::now(), job.name);
}

std::shared_ptr<spdlog::logger> make_log(const std::string& path) {
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  auto log = std::make_shared<spdlog::logger>("server", std::move(sink));
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  log->flush_on(spdlog::level::info);
  return log;
}

}  // namespace

RunRecorder::RunRecorder(RecordedJob job, const std::string& resolved)
    : job_(std::move(job)),
      directory_(make_directory(job_)),
      trace_(open_trace(job_.output.trace, job_.training.policy.text)),
      log_(make_log(directory_.log())),
      metrics_(directory_.metrics()),
      runtimes_(directory_.runtimes()),
      processors_(std::max(1U, std::thread::hardware_concurrency()), record::processor_seconds) {
  if (job_.topology == job::Topology::kServer) {
    decisions_.emplace(directory_.decisions(),
                       record::DecisionLogHeader{.policy = job_.training.policy.text,
                                                 .workers = job_.training.workers,
                                                 .balance = job::balance_in_force(job_.training)});
  }
  keep_runtime_model(job_.training.runtime_model, directory_);
  record::write_atomically(directory_.config(), resolved);
  log_->info("run directory {}", directory_.path().string());
}

std::string RunRecorder::make_log_directory() const {
  const std::filesystem::path logs = directory_.path() / "logs";
  std::filesystem::create_directories(logs);
  return logs.string();
}

live::ServerCallbacks RunRecorder::watch() {
  return {.decided =
              [this](Time now, const policy::Event& event, const policy::Decision& decision) {
                decisions_->append(now, event, decision);
                if (trace_) {
                  trace_->append(now, event, decision);
                }
              },
          .evaluated = [this](const server::Evaluation& found) { metrics_.append(found); },
          .status =
              [this](Time now,
                     const server::Coordinator& coordinator,
                     const server::Evaluations& evaluations) {
                status({.now = now,
                        .statistics = coordinator.statistics(),
                        .live = coordinator.live(),
                        .dataset = coordinator.options().examples},
                       evaluations);
              },
          .warned = [this](const std::string& line) { say(line); }};
}

collective::HostCallbacks RunRecorder::host_watch() {
  return {.evaluated = [this](const server::Evaluation& found) { metrics_.append(found); },
          .status =
              [this](Time now,
                     const collective::Tally& tally,
                     std::uint64_t dataset,
                     const server::Evaluations& evaluations) {
                status({.now = now,
                        .statistics = tally.statistics(),
                        .live = tally.live(),
                        .dataset = dataset},
                       evaluations);
              }};
}

void RunRecorder::reachable(const std::string& server, const std::string& token_file) {
  record::write_control_file(directory_.control(), {.server = server, .token_file = token_file});
}

void RunRecorder::say(const std::string& line) {
  log_->warn("{}", line);
  terminal_.say(line);
}

void RunRecorder::status(const Moment& moment, const server::Evaluations& evaluations) {
  const Time now = moment.now;
  const server::Statistics& statistics = moment.statistics;
  processors_.look(now, statistics);
  if (now >= next_metrics_) {
    next_metrics_ = now + kMetricsPeriod;
    metrics_.append({.seconds = to_seconds(now),
                     .version = statistics.updates,
                     .examples = statistics.examples_applied,
                     .training_loss = statistics.training_loss,
                     .live = moment.live});
    metrics_.flush();
    runtimes_.append(statistics.workers);
    if (decisions_) {
      decisions_->flush();
    }
    if (trace_) {
      trace_->flush();
    }
  }
  const double window = to_seconds(now - rate_since_);
  if (window >= kRateWindow || rate_ == 0.0) {
    rate_ = window > 0.0
                ? static_cast<double>(statistics.examples_applied - rate_examples_) / window
                : 0.0;
    rate_since_ = window >= kRateWindow ? now : rate_since_;
    rate_examples_ = window >= kRateWindow ? statistics.examples_applied : rate_examples_;
  }
  record::Status shown{.seconds = to_seconds(now),
                       .updates = statistics.updates,
                       .examples = statistics.examples_applied,
                       .epochs = static_cast<double>(statistics.examples_applied) /
                                 static_cast<double>(moment.dataset),
                       .examples_per_second = rate_,
                       .live = moment.live,
                       .workers = job_.training.workers,
                       .staleness_mean = statistics.staleness_mean(),
                       .dropped = statistics.gradients_dropped + statistics.gradients_cancelled +
                                  statistics.gradients_filtered};
  if (job_.training.limits.updates > 0) {
    shown.target_updates = job_.training.limits.updates;
  }
  if (statistics.gradients_applied > 0) {
    shown.training_loss = statistics.training_loss;
  }
  if (!evaluations.all().empty()) {
    shown.accuracy = evaluations.all().back().accuracy;
  }
  for (const record::Straggler& straggler : record::stragglers_now(statistics)) {
    shown.slow.push_back(record::to_words(straggler));
  }
  shown.stalled = statistics.stalled();
  terminal_.show(shown);
}

void RunRecorder::discard() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_.path(), ignored);
  if (trace_) {
    std::filesystem::remove(job_.output.trace, ignored);
  }
}

RunEnd RunRecorder::finish(const live::RunResult& result,
                           const Subject& subject,
                           std::optional<double> worst_replica) {
  terminal_.clear();
  std::error_code ignored;
  std::filesystem::remove(directory_.control(), ignored);
  if (decisions_) {
    decisions_->close();
  }
  metrics_.close();
  if (trace_) {
    trace_->close();
  }
  record::Summary summary{.topology = job::Value<job::Topology>::text(job_.topology),
                          .policy = job_.name,
                          .staleness = job::staleness_in_force(job_.training).text,
                          .optimizer = job_.training.optimizer.text,
                          .lr = job::rate_in_force(job_.training),
                          .filter = job_.training.filter.text,
                          .network = subject.network,
                          .data = subject.data,
                          .workers = job_.training.workers,
                          .seconds = to_seconds(result.statistics.last_commit),
                          .statistics = result.statistics,
                          .evaluations = result.evaluations,
                          .target = job_.training.target_accuracy,
                          .worst_replica_accuracy = worst_replica,
                          .why_ended = result.why,
                          .processors = processors_.use()};
  if (const auto balance = job::balance_in_force(job_.training)) {
    summary.balance_most = balance->most;
  }
  if (result.reached_target) {
    summary.seconds_to_target = to_seconds(*result.reached_target);
  }
  if (!result.evaluations.empty() &&
      count(result.evaluations.back().version) == result.statistics.updates) {
    summary.final_accuracy = result.evaluations.back().accuracy;
    summary.final_loss = result.evaluations.back().loss;
  }
  if (!result.weights.empty()) {
    record::write_safetensors(directory_.weights(),
                              result.manifest,
                              result.weights,
                              {{"format", "pt"},
                               {"network", subject.network},
                               {"version", std::to_string(result.statistics.updates)}});
  }
  runtimes_.close(result.statistics.workers);
  record::write_summary(directory_.summary(), summary);
  log_->info("ended: {}", result.why);
  return {.code = result.code,
          .why = result.why,
          .summary = std::move(summary),
          .directory = directory_.path().string()};
}

}  // namespace outpace::run
