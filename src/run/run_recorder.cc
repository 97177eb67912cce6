// Tested by test/program/result_test.py (class Server).

#include "run/run_recorder.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/sinks/basic_file_sink.h>
#include <unistd.h>

#include "dashboard/followed_run.h"
#include "job/run_job.h"
#include "record/control_file.h"
#include "record/output_file.h"
#include "record/safetensors.h"
#include "record/stragglers.h"
#include "run/keep_runtime_model.h"
#include "run/open_trace.h"
#include "server/script.h"

namespace outpace::run {
namespace {

constexpr Duration kMetricsPeriod = std::chrono::seconds(1);
constexpr double kRateWindow = 2.0;  // Seconds.

record::RunDirectory make_directory(const RecordedJob& job) {
  if (!job.checkpoints.resume.empty()) {
    // Looked at before anything moves: a run that is alive is left alone.
    const record::RunLock lock(record::RunDirectory::open(job.checkpoints.resume).lock());
    return record::RunDirectory::reopen(job.checkpoints.resume, job.head.generation);
  }
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

record::WallTime wall_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(since).count()};
}

// Null if no `folder` was asked for. Throws a usage error if the file cannot be made.
std::unique_ptr<record::TensorBoardLog> open_tensorboard(const std::string& folder,
                                                         record::GapTold told) {
  if (folder.empty()) {
    return nullptr;
  }
  try {
    return std::make_unique<record::TensorBoardLog>(
        folder, "outpace." + std::to_string(::getpid()), wall_now(), std::move(told));
  } catch (const Error& error) {
    throw usage_error(std::string("--tensorboard: ") + error.what());
  }
}

// Where the weights may go, the best place first. A name elsewhere says whose they are.
std::vector<std::filesystem::path> places_for_weights(const record::RunDirectory& directory) {
  std::vector<std::filesystem::path> places{directory.weights()};
  const std::string run = directory.path().filename().string();
  const std::string name =
      "outpace-weights-" + run + "-" + std::to_string(::getpid()) + ".safetensors";
  std::error_code failed;
  for (const std::filesystem::path& folder :
       {std::filesystem::current_path(failed), std::filesystem::temp_directory_path(failed)}) {
    if (!folder.empty()) {
      places.push_back(folder / name);
    }
  }
  return places;
}

}  // namespace

RunRecorder::RunRecorder(RecordedJob job, const std::string& resolved)
    : job_(std::move(job)),
      directory_(make_directory(job_)),
      lock_(directory_.lock()),
      log_(make_log(directory_.log())),
      trace_(open_trace(job_.output.trace,
                        job_.training.policy.text,
                        [this](const std::string& line) { say(line); })),
      tensorboard_(open_tensorboard(job_.output.tensorboard,
                                    [this](const std::string& line) { say(line); })),
      metrics_(directory_.metrics(), [this](const std::string& line) { say(line); }),
      runtimes_(directory_.runtimes(), [this](const std::string& line) { say(line); }),
      processors_(std::max(1U, std::thread::hardware_concurrency()), record::processor_seconds) {
  log_->set_error_handler([this](const std::string& why) {
    if (!log_failed_.exchange(true)) {
      terminal_.say(why);
    }
  });
  using How = job::DecisionsKept::How;
  const job::DecisionsKept& kept = job_.output.decisions;
  if (job_.topology == job::Topology::kServer && kept.how != How::kOff) {
    decisions_.emplace(
        directory_.decisions(),
        record::DecisionLogHeader{.policy = job_.training.policy.text,
                                  .workers = job_.training.workers,
                                  .balance = job::balance_in_force(job_.training)},
        record::DecisionLogOptions{.every = kept.how == How::kSampled ? kept.every : 1,
                                   .bytes_max = kept.how == How::kCapped ? kept.mib << 20U : 0,
                                   .told = [this](const std::string& line) { say(line); }});
  }
  if (job_.checkpoints.every != server::CheckpointEvery{}) {
    checkpoints_.emplace(CheckpointWriter::Options{
        .folder = directory_.checkpoints(),
        .head = job_.head,
        .kept = job_.checkpoints.kept,
        .warn = [this](const std::string& line) { say(line); },
        .note = [this](const std::string& line) { log_->info("{}", line); }});
  }
  keep_runtime_model(job_.training.runtime_model, directory_);
  record::write_atomically(directory_.config(), resolved);
  log_->info("run directory {}", directory_.path().string());
  try {
    shown_ = show_run();
  } catch (const Error&) {
    discard();  // The page's address is taken, perhaps: the next try finds nothing in its way.
    throw;
  }
  if (job_.page) {
    alarm("the page is at " + shown_->url());
  }
}

std::unique_ptr<ShownRun> RunRecorder::show_run() {
  std::optional<watch::GroupFeed> group;
  if (job_.topology != job::Topology::kServer) {
    group.emplace(job_.topology == job::Topology::kRing);
  }
  return std::make_unique<ShownRun>(ShownRunOptions{
      .about = {.name = job_.name,
                .network = job_.network,
                .data = job_.data,
                .run = directory_.path().string(),
                .workers = job_.training.workers,
                .updates_alone = dashboard::cuts_nobody_off(job_.training.policy.text),
                .waits_for_all = job_.topology == job::Topology::kRing,
                .target = job_.training.target_accuracy,
                .target_updates = job_.training.limits.updates,
                .staleness_bound = job_.output.alarm_staleness},
      .board = {.version = OUTPACE_VERSION,
                .page = job_.page,
                .on_alarm = job_.output.on_alarm,
                .said = [this](const std::string& line) { alarm(line); }},
      .tells_sending = !job_.delayed && !group,
      .group = group});
}

std::string RunRecorder::make_log_directory() const {
  const std::filesystem::path logs = directory_.path() / "logs";
  std::filesystem::create_directories(logs);
  return logs.string();
}

live::ServerCallbacks RunRecorder::watch() {
  return {.decided =
              [this](Time now, const policy::Event& event, const policy::Decision& decision) {
                if (decisions_) {
                  decisions_->append(now, event, decision);
                }
                if (trace_) {
                  trace_->append(now, event, decision);
                }
                shown_->decided(now, event, decision);
              },
          .evaluated = [this](const server::Evaluation& found) { evaluated(found); },
          .status =
              [this](Time now,
                     const server::Coordinator& coordinator,
                     const server::Evaluations& evaluations) {
                shown_->status(now, coordinator, processors_);
                status({.now = now,
                        .statistics = coordinator.statistics(),
                        .live = coordinator.live(),
                        .dataset = coordinator.options().examples},
                       evaluations);
              },
          .begins =
              [this](const protocol::Manifest& manifest) {
                shown_->begins(manifest.numbers() * sizeof(float));
              },
          .warned = [this](const std::string& line) { say(line); },
          .trained = keeper(),
          .checkpoint =
              [this](Version version, const std::function<void(Archive&)>& keep) {
                if (checkpoints_) {
                  checkpoints_->take(version, keep);
                  shown_->checkpoint(count(version));
                }
              }};
}

collective::HostCallbacks RunRecorder::host_watch() {
  return {
      .evaluated = [this](const server::Evaluation& found) { evaluated(found); },
      .status =
          [this](Time now,
                 const collective::Tally& tally,
                 std::uint64_t dataset,
                 const server::Evaluations& evaluations) {
            shown_->status(now, tally, processors_);
            status({.now = now,
                    .statistics = tally.statistics(),
                    .live = tally.live(),
                    .dataset = dataset},
                   evaluations);
          },
      .joined = [this](Time now, WorkerId worker) { shown_->joined(now, worker); },
      .left = [this](Time now, WorkerId worker, bool dead) { shown_->left(now, worker, dead); },
      .reported =
          [this](Time now,
                 const protocol::Push& report,
                 float runtime,
                 const collective::Tally& tally) { shown_->reported(now, report, runtime, tally); },
      .warned = [this](const std::string& line) { say(line); },
      .trained = keeper()};
}

RunRecorder::WeightsKeeper RunRecorder::keeper() {
  return
      [this](const protocol::Manifest& manifest, std::span<const float> weights, Version version) {
        keep_weights(manifest, weights, count(version));
      };
}

void RunRecorder::reachable(const std::string& server, const std::string& token_file) {
  record::write_control_file(directory_.control(), {.server = server, .token_file = token_file});
}

void RunRecorder::say(const std::string& line) {
  log_->warn("{}", line);
  terminal_.say(line);
  if (shown_) {
    shown_->says(line);
  }
}

void RunRecorder::alarm(const std::string& line) {
  log_->warn("{}", line);
  terminal_.say(line);
}

void RunRecorder::evaluated(const server::Evaluation& found) {
  metrics_.append(found);
  if (tensorboard_) {
    tensorboard_->append(wall_now(), found);
  }
  if (shown_) {
    shown_->evaluated(found);
  }
}

void RunRecorder::record(const Moment& moment, const record::Status& shown) {
  const server::Statistics& statistics = moment.statistics;
  metrics_.append({.seconds = to_seconds(moment.now),
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
  if (tensorboard_) {
    tensorboard_->append(wall_now(), shown);
  }
}

void RunRecorder::status(const Moment& moment, const server::Evaluations& evaluations) {
  const Time now = moment.now;
  const server::Statistics& statistics = moment.statistics;
  processors_.look(now, statistics);
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
  shown.gain = shown_->gain();
  if (now >= next_metrics_) {
    next_metrics_ = now + kMetricsPeriod;
    record(moment, shown);
  }
  terminal_.show(shown);
}

void RunRecorder::discard() {
  if (goes_on()) {
    return;
  }
  checkpoints_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_.path(), ignored);
  if (trace_) {
    std::filesystem::remove(job_.output.trace, ignored);
  }
}

void RunRecorder::keep_weights(const protocol::Manifest& manifest,
                               std::span<const float> weights,
                               std::uint64_t version) {
  weights_kept_ = true;
  for (const std::filesystem::path& place : places_for_weights(directory_)) {
    try {
      record::write_safetensors(
          place,
          manifest,
          weights,
          {{"format", "pt"}, {"network", job_.network}, {"version", std::to_string(version)}});
      if (place != directory_.weights()) {
        say("the weights are in " + place.string());
      }
      weights_lost_.clear();
      return;
    } catch (const std::exception& error) {
      say(error.what());
      weights_lost_ = std::string("the weights are lost: ") + error.what();
    }
  }
}

void RunRecorder::attempt(const std::function<void()>& write) {
  try {
    write();
  } catch (const std::exception& error) {
    say(error.what());
  }
}

RunEnd RunRecorder::finish(const live::RunResult& result, std::optional<double> worst_replica) {
  terminal_.clear();
  checkpoints_.reset();
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
                          .optimizer = job::without_script(job_.training).optimizer.text,
                          .lr = job::rate_in_force(job_.training),
                          .filter = job_.training.filter.text,
                          .network = job_.network,
                          .data = job_.data,
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
  if (server::brings_optimizer(result.script)) {
    summary.optimizer = server::optimizer_in_words(result.script);
    summary.lr = result.script.groups.front().rate;
  }
  if (result.reached_target) {
    summary.seconds_to_target = to_seconds(*result.reached_target);
  }
  if (!result.evaluations.empty() &&
      count(result.evaluations.back().version) == result.statistics.updates) {
    summary.final_accuracy = result.evaluations.back().accuracy;
    summary.final_loss = result.evaluations.back().loss;
  }
  if (!weights_kept_ && !result.weights.empty()) {
    keep_weights(result.manifest, result.weights, result.statistics.updates);
  }
  runtimes_.close(result.statistics.workers);
  const bool lost = !weights_lost_.empty();
  summary.why_ended += lost ? "; " + weights_lost_ : "";
  attempt([&] { record::write_summary(directory_.summary(), summary); });
  std::string why = summary.why_ended;
  log_->info("ended: {}", why);
  if (shown_) {
    shown_->ended(why);
  }
  return {.code = lost && result.code == ExitCode::kDone ? ExitCode::kFailure : result.code,
          .why = std::move(why),
          .summary = std::move(summary),
          .directory = directory_.path().string()};
}

}  // namespace outpace::run
