// Everything that a run leaves behind and shows: the bridge from the live server's watch to the
// run's directory, the log and the terminal.
//
// Once a run has begun, no trouble with its record ends it. What cannot be written is a warning and
// a gap in the record; the weights go to the first of several places that takes them. Neither does
// the run wait for the disk (record/write_queue.h) or for who reads the terminal, until it ends.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <spdlog/logger.h>

#include "collective/host.h"
#include "dashboard/page_server.h"
#include "job/live_job.h"
#include "live/server.h"
#include "record/chrome_trace.h"
#include "record/deaths.h"
#include "record/decision_log.h"
#include "record/metrics.h"
#include "record/peer_log.h"
#include "record/processor_use.h"
#include "record/run_directory.h"
#include "record/run_lock.h"
#include "record/runtime_table.h"
#include "record/summary.h"
#include "record/tensorboard.h"
#include "record/unusable.h"
#include "record/write_queue.h"
#include "run/checkpoint_writer.h"
#include "run/resume.h"
#include "run/shown_run.h"
#include "run/terminal.h"

namespace outpace::run {

// What a record says of its job.
struct RecordedJob {
  job::Training training;
  job::Output output;
  job::Topology topology;
  std::string name;  // The policy, or the topology in place of one.
  // What is trained, for people.
  std::string network;
  std::string data;
  job::Checkpoints checkpoints;
  checkpoint::Head head;                         // For the run's checkpoints.
  std::optional<Resumed> resumed{};              // Nothing: the run begins.
  std::optional<dashboard::PageOptions> page{};  // Nothing: no page is served.
  peer::Setting peers{};                         // Without a server.
  bool delayed = false;                          // Delays are replayed, or workers slowed.
};

// How a run ended, for people and for exit codes.
struct RunEnd {
  ExitCode code;
  std::string why;
  record::Summary summary;
  std::string directory;  // Where its record is.
};

class RunRecorder {
 public:
  // Makes the run's directory, and writes the resolved configuration into it.
  RunRecorder(RecordedJob job, const std::string& resolved);
  ~RunRecorder();
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_.path(); }
  // The directory for the children's logs.
  [[nodiscard]] std::string make_log_directory() const;
  // The directory in which the workers keep what they decide; empty: nothing is kept.
  [[nodiscard]] std::string peer_decisions() const;
  [[nodiscard]] live::ServerCallbacks watch();
  // For a run without a server.
  [[nodiscard]] collective::HostCallbacks host_watch();
  // Where `outpace ctl` finds the job, until finish().
  void reachable(const std::string& server, const std::string& token_file);
  // A warning or a piece of news, for the log and the terminal. From any thread.
  void say(const std::string& line);
  // An alarm or a piece of news, for the log and the terminal: the page has it already. From any
  // thread.
  void alarm(const std::string& line);
  // A line of a child, for the terminal alone: its log is elsewhere. From any thread.
  void pass_on(const std::string& line) { terminal_.pass_on(line); }
  // Whether the terminal takes more of what is passed on. From any thread, as the next.
  [[nodiscard]] bool terminal_has_room() const { return terminal_.has_room(); }
  // False: its reader takes nothing.
  [[nodiscard]] bool wait_for_terminal() { return terminal_.wait_for_room(); }

  // Closes the records and writes runtimes and summary, and the weights unless watch() has seen
  // them. A run whose weights no place took has failed.
  [[nodiscard]] RunEnd finish(const live::RunResult& result,
                              std::optional<double> worst_replica = std::nullopt);
  // Removes the run's directory: a run that never began leaves nothing in the way of the next try.
  void discard();

 private:
  struct Moment {
    Time now;
    const server::Statistics& statistics;
    std::uint32_t live;
    std::uint64_t dataset;  // Examples in it.
  };
  void status(const Moment& moment, const server::Evaluations& evaluations);
  void evaluated(const server::Evaluation& found);
  void record(const Moment& moment, const record::Status& shown);
  // Says it when the disk takes nothing for some seconds.
  void look_at_disk();
  void cap_earlier();
  [[nodiscard]] std::unique_ptr<ShownRun> show_run();
  void decided(Time now, const policy::Event& event, const policy::Decision& decision);
  [[nodiscard]] bool goes_on() const { return !job_.checkpoints.resume.empty(); }
  // Says what could not be written, and goes on.
  void attempt(const std::function<void()>& write);
  using WeightsKeeper =
      std::function<void(const protocol::Manifest&, std::span<const float>, Version)>;
  [[nodiscard]] WeightsKeeper keeper();
  void keep_weights(const protocol::Manifest& manifest,
                    std::span<const float> weights,
                    std::uint64_t version);

  const RecordedJob job_;
  std::string policies_;  // job_.name, and those that were set.
  record::Deaths deaths_;
  std::uint64_t updates_ = 0;  // When it was looked at last.
  record::RunDirectory directory_;
  record::RunLock lock_;
  // Log and terminal before the files below, which say there that they cannot be written.
  Terminal terminal_;
  record::WriteQueue writes_;
  std::shared_ptr<spdlog::logger> log_;
  bool said_disk_hangs_ = false;
  // Null if none was asked for. After the directory: a refused run leaves an older trace alone.
  std::unique_ptr<record::ChromeTrace> trace_;
  std::unique_ptr<record::TensorBoardLog> tensorboard_;  // Null if none was asked for.
  // Nothing: nothing is kept, or the run has no server; or has one.
  std::optional<record::DecisionLogWriter> decisions_;
  std::optional<record::PeerLog> peers_;
  record::MetricsWriter metrics_;
  record::RuntimeTable runtimes_;
  record::UnusableExamples unusable_;
  record::ProcessorMeter processors_;
  bool said_shared_ = false;  // Whether it was said that workers share processors.
  Time next_metrics_{};
  bool said_where_ = false;  // The run's directory.
  bool weights_kept_ = false;
  std::string weights_lost_;  // Why no place took the weights; empty: one did.
  // For the rate that the progress line shows.
  Time rate_since_{};
  std::uint64_t rate_examples_ = 0;
  double rate_ = 0.0;
  std::unique_ptr<ShownRun> shown_;              // Null until the record is there.
  std::optional<CheckpointWriter> checkpoints_;  // Last: its thread uses the log.
};

}  // namespace outpace::run
