// A worker's session that outlasts its connections. It joins again when a connection is lost or the
// server counted this worker as dead; a random number tells the server that it is the same process.
// It also turns leased positions into examples.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "live/own_state.h"
#include "live/worker_session.h"
#include "worker/order.h"

namespace outpace::live {

struct WorkerOptions {
  SessionOptions session;
  Duration rejoin_for = std::chrono::minutes(10);  // After a lost connection.
  bool steps_ahead = false;  // With local steps: while a push and the next weights travel.
  StateKeeper keeper{};
};

class LastingSession {
 public:
  // Tries for `session.deadline`. Throws Error as WorkerSession does.
  LastingSession(const WorkerOptions& options, const Offer& offer);

  struct Task {
    WorkerSession::Task work;
    std::vector<std::uint64_t> examples;  // Indices into the data set.
    // Examples of the next releases, as far as the server has told them.
    std::vector<std::vector<std::uint64_t>> ahead;
    std::vector<std::uint64_t> ahead_epochs;  // The epoch of the last example of each.
  };
  // Waits for the next release, over a new connection if need be; nothing when the run is over.
  // Throws Error if no connection comes about within `rejoin_for`.
  [[nodiscard]] std::optional<Task> next();

  // As WorkerSession::take_constants(), from the first connection of this job.
  [[nodiscard]] const std::string& constants() const { return constants_; }

  [[nodiscard]] WorkerId worker() const { return options_.session.worker; }
  [[nodiscard]] PushPacker& packer() { return *options_.session.packer; }
  [[nodiscard]] const StateKeeper& keeper() const { return options_.keeper; }

  // The connection over which the last task came; next() may replace it.
  [[nodiscard]] WorkerSession& session() { return *session_; }
  [[nodiscard]] const WorkerSession& session() const { return *session_; }
  // How many there have been.
  [[nodiscard]] std::uint64_t sessions() const { return sessions_; }

 private:
  void connect(Duration limit);
  void reconnect();

  // Constant after construction.
  WorkerOptions options_;
  const Offer offer_;
  // State.
  std::optional<WorkerSession> session_;
  std::uint64_t sessions_ = 0;
  std::string constants_;
  std::optional<worker::Order> order_;  // Nothing if the run was over before.
};

}  // namespace outpace::live
