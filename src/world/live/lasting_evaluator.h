// An evaluator's session with the server that outlasts its connections: snapshots come, and
// measurements go back.

#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "live/mailbox.h"
#include "live/worker_session.h"
#include "protocol/constants.h"
#include "protocol/messages.h"
#include "wire/transport.h"
#include "worker/gradient_source.h"

namespace outpace::live {

class LastingEvaluator {
 public:
  // Does not connect yet. `rejoin_for`: how long to try to find the server again when the
  // connection is lost; 0: a lost connection is an error.
  LastingEvaluator(const SessionOptions& options, protocol::Manifest manifest, Duration rejoin_for);

  struct Snapshot {
    Version version;
    wire::Numbers weights;
  };
  // Waits for the next snapshot; nothing when the run is over. Throws Error if the server does not
  // take this evaluator, or is not found.
  [[nodiscard]] std::optional<Snapshot> next();
  // What came as protocol::Constants before the first snapshot; empty if nothing did.
  [[nodiscard]] const std::string& constants() const { return constants_; }
  // Tells the server what the snapshot of this version reached.
  void answer(Version version, const worker::Evaluation& found);

 private:
  void connect();
  // After the connection has ended: throws, or waits before the next try.
  void lost(const wire::Closed& closed);

  // Constant after construction.
  const protocol::Manifest manifest_;
  const Duration rejoin_for_;
  // State.
  SessionOptions options_;
  protocol::Assembly came_;  // The constants.
  std::string constants_;
  Backoff backoff_;
  std::chrono::steady_clock::time_point begun_;  // When the connection began.
  std::deque<wire::ConnectionEvent> events_;
  std::unique_ptr<Mailbox<wire::ConnectionEvent>> mailbox_;  // The connection's.
  std::unique_ptr<wire::ClientTransport> transport_;         // Last: its thread posts there.
};

}  // namespace outpace::live
