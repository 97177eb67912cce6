// The decisions of a run, whose servers may have been several: one that died, and those that went
// on from its checkpoints. Each one's log is in a directory of its own.
//
// They are read as one log. Decisions after the checkpoint from which the next server went on are
// left out: they were lost, and made again.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/decision_log.h"
#include "record/run_directory.h"

namespace outpace::record {

class RunDecisions {
 public:
  // One that died.
  struct Server {
    std::filesystem::path folder;
    Time until;  // Its run's clock, where the next one went on.
  };

  // Throws a usage error if the newest server has no log (RunDirectory::check_decided()), or if
  // what is read of one is wrong; so does next().
  explicit RunDecisions(const RunDirectory& files);

  // The header of the first server whose log is there.
  [[nodiscard]] const DecisionLogHeader& header() const { return header_; }
  // The header of the server that made the last decision.
  [[nodiscard]] const DecisionLogHeader& present() const { return log_->header(); }
  // The servers before the newest whose logs are there.
  [[nodiscard]] std::vector<Server> earlier() const;
  // As DecisionLogReader::next().
  [[nodiscard]] bool next(LoggedDecision& out);
  // The last decision is the first one of a server that went on with the run, from here.
  [[nodiscard]] const std::optional<GoesOn>& goes_on() const { return goes_on_; }
  // Servers whose logs are not there: what they did is not known.
  [[nodiscard]] std::uint32_t missing() const { return missing_; }

  // Bytes of all logs.
  [[nodiscard]] std::uint64_t bytes() const;
  // Bytes of the present log, up to the last decision.
  [[nodiscard]] std::uint64_t bytes_read() const { return log_->bytes_read(); }
  // Goes on at the first line at this byte of them or later; false if there is none.
  bool go_to(std::uint64_t byte);

  [[nodiscard]] bool cut_short() const { return log_->cut_short(); }
  [[nodiscard]] const std::string& gap() const { return log_->gap(); }
  [[nodiscard]] const std::filesystem::path& path() const { return log_->path(); }
  [[nodiscard]] std::uint64_t line() const { return log_->line(); }

 private:
  struct Log {
    std::filesystem::path path;
    GoesOn from;  // For the first server: the run's begin.
  };
  void open(std::size_t server);
  // A decision that was lost when the next server went on.
  [[nodiscard]] bool lost(const LoggedDecision& decision) const;

  std::vector<Log> servers_;
  std::uint32_t missing_ = 0;
  std::size_t at_ = 0;
  std::optional<DecisionLogReader> log_;
  DecisionLogHeader header_;
  std::optional<GoesOn> goes_on_;
  bool opened_ = false;  // A later server's log, and no decision of it was read yet.
};

}  // namespace outpace::record
