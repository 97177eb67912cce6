// What the processes of a run without a server decided: each event that one of their machines was
// told, and what it decided, in the words of peer/journal.h, one JSON line each.
//
// A log is of one process: the host's, or a worker's, which writes its own, so that one that is
// killed costs the others nothing. A simulated run has one log, of all. Its first line says what
// the machines are made from. Size, parts and gaps are those of decisions.jsonl (log_parts.h).

#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "peer/journal.h"
#include "peer/replayed.h"
#include "record/log_parts.h"

namespace outpace::record {

inline constexpr std::uint32_t kPeerLogVersion = 1;

class PeerLog {
 public:
  // Makes the file's directory. Throws Error if it cannot.
  PeerLog(const std::filesystem::path& path,
          const peer::Setting& setting,
          const DecisionLogOptions& options = {});

  // `worker`: nothing: the host. From any thread, as the next two.
  void append(Time now,
              std::optional<WorkerId> worker,
              const std::string& event,
              const std::string& decided);
  // Appends, with the time since the first line, and flushes now and then, so that a process that
  // is killed leaves all but its last second.
  [[nodiscard]] peer::Journal journal_of(std::optional<WorkerId> worker);
  void flush();
  void close();

 private:
  std::mutex mutex_;  // Guards what follows.
  std::optional<std::chrono::steady_clock::time_point> began_;
  Time next_flush_{};
  LogParts log_;
};

struct PeerLine {
  Time now{};
  std::optional<WorkerId> worker;  // Nothing: the host.
  std::string event;
  std::string decided;
};

class PeerLogReader {
 public:
  // Throws a usage error that names file and line if anything is wrong; so does next().
  explicit PeerLogReader(const std::filesystem::path& path);
  PeerLogReader(const PeerLogReader&) = delete;
  PeerLogReader& operator=(const PeerLogReader&) = delete;

  [[nodiscard]] const peer::Setting& setting() const { return setting_; }
  // The next line into `out`; false if there is none, or a gap.
  [[nodiscard]] bool next(PeerLine& out);
  // Where it is, and how it ends (log_parts.h).
  [[nodiscard]] const LogLines& lines() const { return lines_; }

 private:
  peer::Setting setting_;
  LogLines lines_;  // Looks at the setting.
};

}  // namespace outpace::record
