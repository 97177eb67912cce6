// Tested by test/program/result_test.py (class Server).

#include "run/run_recorder.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include "job/run_job.h"
#include "policy/in_turn.h"
#include "record/control_file.h"
#include "record/output_file.h"
#include "record/safetensors.h"
#include "record/stragglers.h"
#include "run/keep_runtime_model.h"
#include "run/kept_decisions.h"
#include "run/open_trace.h"
#include "server/script.h"

namespace outpace::run {
namespace {

constexpr Duration kMetricsPeriod = std::chrono::seconds(1);
constexpr double kRateWindow = 2.0;                                // Seconds.
constexpr std::uintmax_t kEarlierMost = std::uintmax_t{4} << 30U;  // Bytes in earlier/.
constexpr Duration kDiskHangs = std::chrono::seconds(5);

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

// A log's file, which the record's queue writes.
class LogFile final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LogFile(const std::filesystem::path& path, record::WriteQueue& queue, record::GapTold told)
      : file_(path,
              {.told = std::move(told), .mark = "(lines are missing here)", .queue = &queue}) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const std::string_view text(line.data(), line.size());
    const std::string_view without_end = text.substr(0, text.find_last_not_of('\n') + 1);
    file_.buffer().append(without_end.data(), without_end.data() + without_end.size());
    file_.end_line();
  }
  void flush_() override { file_.flush(); }

 private:
  record::OutputFile file_;
};

std::shared_ptr<spdlog::logger> make_log(const std::filesystem::path& path,
                                         record::WriteQueue& queue,
                                         record::GapTold told) {
  auto log = std::make_shared<spdlog::logger>(
      "server", std::make_shared<LogFile>(path, queue, std::move(told)));
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
                                                         std::optional<Version> goes_on,
                                                         record::GapTold told,
                                                         record::WriteQueue& queue) {
  if (folder.empty()) {
    return nullptr;
  }
  try {
    return std::make_unique<record::TensorBoardLog>(
        folder,
        "outpace." + std::to_string(::getpid()),
        record::TensorBoardLog::Begin{.wall = wall_now(), .goes_on = goes_on},
        std::move(told),
        &queue);
  } catch (const Error& error) {
    throw usage_error(std::string("--tensorboard: ") + error.what());
  }
}

// As a run of its own: who uses the file again repeats the run, and does not go on with it.
std::string without_resume(const std::string& resolved) {
  const std::size_t line = resolved.find("\nresume = ");
  return line == std::string::npos
             ? resolved
             : resolved.substr(0, line) + resolved.substr(resolved.find('\n', line + 1));
}

}  // namespace

RunRecorder::RunRecorder(RecordedJob job, const std::string& resolved)
    : job_(std::move(job)),
      policies_(job_.resumed ? job_.resumed->policies : job_.name),
      directory_(make_directory(job_)),
      lock_(directory_.lock()),
      // Where it cannot be written, the terminal says so.
      log_(make_log(
          directory_.log(), writes_, [this](const std::string& line) { terminal_.say(line); })),
      trace_(open_trace(
          job_.output.trace,
          job_.training.policy.text,
          [this](const std::string& line) { say(line); },
          &writes_)),
      tensorboard_(open_tensorboard(
          job_.output.tensorboard,
          job_.resumed ? std::optional(job_.resumed->from.version) : std::nullopt,
          [this](const std::string& line) { say(line); },
          writes_)),
      metrics_(
          directory_.metrics(), [this](const std::string& line) { say(line); }, &writes_),
      runtimes_(
          directory_.runtimes(), [this](const std::string& line) { say(line); }, &writes_),
      unusable_(
          directory_.unusable(), [this](const std::string& line) { say(line); }, &writes_),
      processors_(record::processors_available(), record::processor_seconds) {
  const bool served = job_.topology == job::Topology::kServer;
  const auto kept = options_of(
      job_.output.decisions,
      served ? 1 : logs_of_peers(job_.training.workers),
      [this](const std::string& line) { say(line); },
      writes_);
  if (kept && !served) {
    peers_.emplace(directory_.peer_decisions(std::nullopt), job_.peers, *kept);
  } else if (kept) {
    decisions_.emplace(directory_.decisions(),
                       header_of(job_.training,
                                 job_.resumed ? job_.resumed->policy : job_.training.policy.text,
                                 job_.resumed ? std::optional(job_.resumed->from) : std::nullopt),
                       *kept);
  }
  if (job_.checkpoints.every != server::CheckpointEvery{}) {
    checkpoints_.emplace(CheckpointWriter::Options{
        .folder = directory_.checkpoints(),
        .head = job_.head,
        .kept = job_.checkpoints.kept,
        .before = writes_,
        .warn = [this](const std::string& line) { say(line); },
        .note = [this](const std::string& line) { log_->info("{}", line); }});
  }
  keep_runtime_model(job_.training.runtime_model, directory_);
  record::write_atomically(directory_.config(), without_resume(resolved));
  log_->info("run directory {}", directory_.path().string());
  if (job_.resumed) {
    cap_earlier();
  }
  try {
    shown_ = show_run();
  } catch (const Error&) {
    discard();  // The page's address is taken, perhaps: the next try finds nothing in its way.
    throw;
  }
  if (job_.resumed) {
    deaths_.begin_at(job_.resumed->from.version);
  }
  if (job_.page) {
    alarm("the page is at " + shown_->url());
  }
}

RunRecorder::~RunRecorder() {
  writes_.wait();  // While all are there that hear of it.
}

void RunRecorder::cap_earlier() {
  const std::uint32_t thinned = directory_.cap_earlier(kEarlierMost);
  if (thinned > 0) {
    say(fmt::format(
        "{} took more than {} GiB: the decisions, runtimes and logs of {} are removed",
        directory_.earlier().string(),
        kEarlierMost >> 30U,
        thinned == 1 ? "its first server" : fmt::format("its first {} servers", thinned)));
  }
}

std::unique_ptr<ShownRun> RunRecorder::show_run() {
  std::optional<watch::GroupFeed> group;
  if (job_.topology != job::Topology::kServer) {
    group.emplace(job_.topology == job::Topology::kRing);
  }
  auto shown = std::make_unique<ShownRun>(ShownRunOptions{
      .about = {.name = policies_,
                .network = job_.network,
                .data = job_.data,
                .run = directory_.path().string(),
                .workers = job_.training.workers,
                .policy = job_.topology == job::Topology::kServer
                              ? (job_.resumed ? job_.resumed->policy : job_.training.policy.text)
                              : "",
                .stragglers = job_.topology == job::Topology::kRing ? policy::Stragglers::kAwaited
                                                                    : policy::Stragglers::kGoOn,
                .target = job_.training.target_accuracy,
                .target_updates = job_.training.limits.updates,
                .staleness_bound = job_.output.alarm_staleness},
      .board = {.version = OUTPACE_VERSION,
                .page = job_.page,
                .trace = record::trace_of,
                .on_alarm = nullptr,
                .said = [this](const std::string& line) { alarm(line); }},
      .on_alarm = job_.output.on_alarm,
      .disk = &writes_,
      .tells_sending = !job_.delayed && !group,
      .group = group});
  if (job_.resumed) {
    shown->goes_on(job_.resumed->page, job_.resumed->from);
  }
  return shown;
}

std::string RunRecorder::make_log_directory() const {
  const std::filesystem::path logs = directory_.path() / "logs";
  std::filesystem::create_directories(logs);
  return logs.string();
}

std::string RunRecorder::peer_decisions() const {
  const std::filesystem::path host = directory_.peer_decisions(std::nullopt);
  return peers_ ? std::filesystem::absolute(host).parent_path().string() : "";
}

live::ServerCallbacks RunRecorder::watch() {
  return {.decided = [this](Time now,
                            const policy::Event& event,
                            const policy::Decision& decision) { decided(now, event, decision); },
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
          .policy_changed = [this](const std::string& line) { alarm(line); },
          .awaits =
              [this](const std::string& line) {
                if (!std::exchange(said_where_, true)) {
                  terminal_.say("run directory " + directory_.path().string());
                }
                alarm(line);
              },
          .constants =
              [this](std::string_view bytes) {
                try {
                  record::write_atomically(directory_.constants(), bytes);
                } catch (const std::exception& error) {  // Checkpoints have them, too.
                  say(error.what());
                }
              },
          .left_out = [this](const std::vector<std::uint64_t>& examples,
                             const std::string& why) { unusable_.add(examples, why); },
          .trained = keeper(),
          .checkpoint =
              [this](Version version, const std::function<void(Archive&)>& keep) {
                if (decisions_) {  // They are written before the checkpoint is.
                  decisions_->flush();
                }
                if (checkpoints_) {
                  checkpoints_->take(version, [&](Archive& archive) {
                    keep(archive);
                    keep_for_resume(archive, policies_, shown_->frame());
                  });
                  shown_->checkpoint(count(version));
                }
              }};
}

void RunRecorder::decided(Time now, const policy::Event& event, const policy::Decision& decision) {
  if (const auto* set = std::get_if<policy::PolicySet>(&event)) {
    policies_ = policy::in_turn(std::move(policies_), set->policy);
  }
  deaths_.follow(event, decision.actions);
  if (decisions_) {
    decisions_->append(now, event, decision);
  }
  if (trace_) {
    trace_->append(now, event, decision);
  }
  shown_->decided(now, event, decision);
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
      .joined =
          [this](Time now, WorkerId worker) {
            deaths_.joined_again(worker);
            shown_->joined(now, worker);
          },
      .left =
          [this](Time now, WorkerId worker, bool dead) {
            if (dead) {
              deaths_.died(worker, updates_);
            }
            shown_->left(now, worker, dead);
          },
      .reported =
          [this](Time now,
                 const protocol::Push& report,
                 float runtime,
                 const collective::Tally& tally) { shown_->reported(now, report, runtime, tally); },
      .decided = peers_ ? peers_->journal_of(std::nullopt) : nullptr,
      .links = [this](Time now,
                      bool broken,
                      const std::string& words) { shown_->links(now, broken, words); },
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
  alarm(line);
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
  if (peers_) {
    peers_->flush();
  }
  if (trace_) {
    trace_->flush();
  }
  if (tensorboard_) {
    tensorboard_->append(wall_now(), shown);
  }
  look_at_disk();
}

void RunRecorder::look_at_disk() {
  const auto busy = writes_.busy();
  const bool hangs = busy && *busy >= kDiskHangs;
  if (hangs && !said_disk_hangs_) {
    say("the disk of " + directory_.path().string() +
        " has taken nothing for 5 s; training goes on, and the record waits in memory");
  } else if (!hangs && said_disk_hangs_) {
    say("the disk of " + directory_.path().string() + " takes the record again");
  }
  said_disk_hangs_ = hangs;
}

void RunRecorder::status(const Moment& moment, const server::Evaluations& evaluations) {
  const Time now = moment.now;
  const server::Statistics& statistics = moment.statistics;
  updates_ = statistics.updates;
  processors_.look(now, statistics);
  if (!job_.delayed && !said_shared_) {  // Delayed workers sleep most of their time.
    if (const auto shared = processors_.shared_in_words()) {
      said_shared_ = true;
      say(*shared + ", so each slows down the others");
    }
  }
  if (job_.resumed && rate_since_ == Time{}) {  // Rates are of what this server does.
    rate_since_ = now;
    rate_examples_ = statistics.examples_applied;
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
                       .workers = std::max(job_.training.workers,
                                           static_cast<std::uint32_t>(statistics.workers.size())),
                       .staleness_mean = statistics.staleness_mean(),
                       .dropped = statistics.gradients_dropped + statistics.gradients_cancelled +
                                  statistics.gradients_filtered};
  if (job_.training.limits.updates > 0) {
    shown.target_updates = job_.training.limits.updates;
  }
  shown.training_loss = statistics.training_loss;
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

void RunRecorder::attempt(const std::function<void()>& write) {
  try {
    write();
  } catch (const std::exception& error) {
    say(error.what());
  }
}

}  // namespace outpace::run
