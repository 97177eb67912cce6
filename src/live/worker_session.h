// A worker's live connection to the server: joins, beats its heart, and hands releases to the one
// thread that computes.
//
// Threads: the transport's thread feeds the inbox, a thread of the session sends heartbeats (so
// that a long backward pass does not look dead), and the caller's thread computes. They share only
// the inbox, which one mutex guards.

#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "protocol/messages.h"
#include "wire/tls_files.h"
#include "wire/transport.h"
#include "wire/transports.h"
#include "worker/inbox.h"

namespace outpace::live {

struct SessionOptions {
  std::string server;  // "HOST:PORT" or "unix:PATH".
  std::string token;
  wire::TlsFiles tls;  // The worker's; empty: no TLS.
  WorkerId worker{};
  std::uint64_t process = 0;                     // As in protocol::Hello.
  Duration deadline = std::chrono::seconds(60);  // To be welcomed.
  Duration keep_alive = wire::kKeepAlive;        // As in wire::ConnectOptions.
};

// What a worker brings to the job.
struct Offer {
  protocol::Manifest manifest;
  std::uint64_t dataset_examples = 0;
  // Called only if the job has none, by the constructor or by next().
  std::function<std::vector<float>()> initial_weights;
};

// The server counted this worker as dead, or the connection broke. The worker may join again.
class ConnectionLost : public Error {
 public:
  explicit ConnectionLost(const std::string& why) : Error(ExitCode::kFailure, why) {}
};

class WorkerSession {
 public:
  // Connects and waits for the welcome. Throws Error: kAuthentication, kIncompatible, or kFailure.
  WorkerSession(const SessionOptions& options, const Offer& offer);
  ~WorkerSession();
  WorkerSession(const WorkerSession&) = delete;
  WorkerSession& operator=(const WorkerSession&) = delete;

  [[nodiscard]] const protocol::Welcome& welcome() const { return *welcome_; }

  struct Task {
    protocol::Release release;
    std::vector<float> weights;  // In the manifest's order.
  };
  // Waits for the next release; nothing when the run is over. Throws ConnectionLost.
  [[nodiscard]] std::optional<Task> next();

  // Whether the current task should be given up, because the server asked for that or is gone. It
  // is cheap: poll it between layers.
  [[nodiscard]] worker::CancelMode cancelled() const { return cancelled_.load(); }
  // Sleeps until the run's clock shows `time`, or a cancel; says which mode of cancel it was.
  worker::CancelMode sleep_until(Time time);
  // The run's clock, as near as messages tell: it starts when the first weights are handed out.
  [[nodiscard]] Time now() const;

  struct Result {
    std::uint32_t examples;
    bool partial;
    double loss;
    double compute_seconds;
  };
  // Answers the current task and waits for the verdict; nothing if the run ended first.
  std::optional<protocol::Verdict> push(const Result& result, std::vector<float> gradient);
  void abandon();
  // Leaves the job: the server counts this worker no longer. Waits until it has heard so, at most
  // some seconds. REQUIRES: no other call comes after.
  void leave();

 private:
  void receive(wire::ConnectionEvent event);
  void deliver(wire::Received received);
  void send_initial_weights();
  void beat(const std::stop_token& stop);
  [[nodiscard]] protocol::GradientId identity() const;
  [[noreturn]] void throw_closed() const;

  // Constant after construction.
  SessionOptions options_;
  const std::function<std::vector<float>()> initial_weights_;
  std::optional<protocol::Welcome> welcome_;  // The first; set before the constructor returns.
  // State below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  worker::Inbox inbox_;
  std::vector<float> weights_;  // Of the newest release.
  bool needs_weights_ = false;  // The server has none, or none any more.
  std::optional<wire::Closed> closed_;
  std::optional<std::chrono::steady_clock::duration> clock_offset_;  // steady clock minus run's.
  // Of the thread that computes.
  Sequence current_{};
  // Set under mutex_, read anywhere.
  std::atomic<worker::CancelMode> cancelled_{worker::CancelMode::kNone};
  std::unique_ptr<wire::ClientTransport> transport_;
  // The heart has a lock of its own, so that messages do not wake it.
  std::mutex heart_mutex_;
  std::condition_variable_any heart_stopped_;
  std::jthread heart_;  // Last: stops first.
};

}  // namespace outpace::live
