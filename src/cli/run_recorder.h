// Everything that a run leaves behind and shows: the bridge from the live server's watch to the
// run's directory, the log and the terminal.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <spdlog/logger.h>

#include "cli/options.h"
#include "cli/terminal.h"
#include "collective/host.h"
#include "live/server.h"
#include "record/chrome_trace.h"
#include "record/decision_log.h"
#include "record/metrics.h"
#include "record/processor_use.h"
#include "record/run_directory.h"
#include "record/runtime_table.h"
#include "record/summary.h"

namespace outpace::cli {

class RunRecorder {
 public:
  // Makes the run's directory, and writes the resolved configuration into it.
  RunRecorder(const JobOptions& options, const std::string& resolved);

  [[nodiscard]] const record::RunDirectory& directory() const { return directory_; }
  [[nodiscard]] live::ServerCallbacks watch();
  // Of a run without a server, which decides nothing.
  [[nodiscard]] collective::HostCallbacks host_watch();
  // Where `outpace ctl` finds the job, until finish().
  void reachable(const std::string& server, const std::string& token_file);
  // A warning or a piece of news, for the log and the terminal. From any thread.
  void say(const std::string& line);

  // Closes the records and writes weights, runtimes and summary. `network` and `data` for people.
  record::Summary finish(const live::RunResult& result,
                         const std::string& network,
                         const std::string& data,
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

  JobOptions options_;
  record::RunDirectory directory_;
  // Null if none was asked for. After the directory: a refused run leaves an older trace alone.
  std::unique_ptr<record::ChromeTrace> trace_;
  std::shared_ptr<spdlog::logger> log_;
  std::optional<record::DecisionLogWriter> decisions_;  // Nothing: nobody decides.
  record::MetricsWriter metrics_;
  record::RuntimeTable runtimes_;
  Terminal terminal_;
  record::ProcessorMeter processors_;
  Time next_metrics_{};
  // For the rate that the progress line shows.
  Time rate_since_{};
  std::uint64_t rate_examples_ = 0;
  double rate_ = 0.0;
};

// Prints the result: for people, and with --json as one object, last, on standard output.
void print_result(const record::Summary& summary, const RunRecorder& recorder, bool json);

}  // namespace outpace::cli
