// The record of a run in virtual time.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "job/simulate_job.h"
#include "record/chrome_trace.h"
#include "record/deaths.h"
#include "record/decision_log.h"
#include "record/run_directory.h"
#include "record/summary.h"
#include "server/coordinator.h"
#include "simulation/simulation.h"
#include "watch/board.h"

namespace outpace::run {

// How a simulated run ended: its summary, and what only virtual time has.
struct SimulatedEnd {
  record::Summary summary;
  nlohmann::ordered_json json;  // The summary, and simulated_seconds, events and so on.
  std::string directory;        // Empty: it was not recorded.
};

// Tells a board what its run decides and expects.
class BoardFeed {
 public:
  explicit BoardFeed(watch::About about);

  void decided(Time now, const policy::Event& event, const policy::Decision& decision);
  void after(const server::Coordinator& coordinator);
  void restarted();
  [[nodiscard]] watch::Board& board() { return board_; }

 private:
  watch::Board board_;
  std::uint64_t decisions_ = 0;
  std::uint64_t next_look_ = 1;  // Decisions, at which the policy is asked what it expects.
};

// The record of a run, if --out asks for one.
class SimulatedRecord {
 public:
  // `policy` is whose decisions these are. Throws as a live run's record does.
  SimulatedRecord(const job::SimulateJob& job,
                  const std::string& policy,
                  const std::string& resolved);

  // For as long as this object lives.
  [[nodiscard]] simulation::Listener listener();

  struct About {
    std::string network;
    std::string data;
    const protocol::Manifest* manifest;  // Null without learning.
    double wall_seconds;
  };
  // Closes the record.
  [[nodiscard]] SimulatedEnd finish(const simulation::Result& result, const About& about);

 private:
  void decided(Time now, const policy::Event& event, const policy::Decision& decision);
  void keep_what_was_learnt(const simulation::Result& result, const About& about);
  void keep_page(const simulation::Result& result, const About& about);

  const job::SimulateJob job_;
  const std::string policy_;
  record::Deaths deaths_;
  std::unique_ptr<record::ChromeTrace> trace_;  // Null if none was asked for.
  std::optional<record::RunDirectory> directory_;
  std::optional<record::DecisionLogWriter> decisions_;
  std::unique_ptr<BoardFeed>
      shown_;  // Null without a record, or with more workers than a page has.
};

}  // namespace outpace::run
