// A worker's connection to the process that records a run without a server (host.h). The worker
// reports over it, learns when to begin and to end, and sends its weights on request. Gradients do
// not use it.
//
// The messages are those of the parameter server, with other payloads:
//
//   worker  Hello            it is connected to all other workers
//   host    Welcome          all have come: begin; the run's clock is at 0
//   worker  Push             it computed a gradient; the payload is one number, its runtime
//   host    Snapshot         send your weights; no payload
//   worker  Snapshot         the weights, on request or unprompted
//   host    Stop             compute no more
//   worker  Goodbye          it computes no more and waits for no other worker
//
// Then the host asks for the final weights and closes the connection.
//
// Threads: the transport's thread delivers, another sends heartbeats, and the caller's thread
// computes. One mutex guards the state.

#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "live/worker_session.h"
#include "protocol/messages.h"
#include "wire/transport.h"

namespace outpace::collective {

class Member {
 public:
  // Returns the weights to send when the host asks; called on a thread of the transport.
  using Weights = std::function<std::vector<float>()>;

  // Connects, and returns when the run begins. Throws Error. The initial weights of `offer` are not
  // requested.
  Member(const live::SessionOptions& options, const live::Offer& offer, Weights weights);
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // The time on the run's clock.
  [[nodiscard]] Time now() const;
  // Whether the host said stop, or is gone.
  [[nodiscard]] bool stopping() const;
  // Sleeps until the run's clock shows `time` or the host says stop.
  void sleep_until(Time time);

  struct Report {
    Sequence sequence;       // Counts this worker's gradients: 1, 2, ...
    std::uint32_t examples;  // At least 1.
    double loss;             // Mean; may be infinite or NaN, although no message can carry that.
    double compute_seconds;
    double runtime;  // Seconds from receiving the weights to the gradient, including delays.
  };
  void report(const Report& report);
  void bring(Version version, std::vector<float> weights);
  // Reports that this worker computes no more, and returns when the host has closed the connection.
  // Throws Error if the connection ended otherwise.
  void leave();

 private:
  void receive(wire::ConnectionEvent event);
  void beat(const std::stop_token& stop);
  [[noreturn]] void throw_closed() const;

  // Constant after construction.
  const live::SessionOptions options_;
  const Weights weights_;
  std::optional<protocol::Welcome> welcome_;  // Set before the constructor returns.
  std::chrono::steady_clock::time_point began_{};
  // State below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<protocol::Stop> stop_;
  std::optional<wire::Closed> closed_;
  std::unique_ptr<wire::ClientTransport> transport_;
  std::mutex heart_mutex_;
  std::condition_variable_any heart_stopped_;
  std::jthread heart_;  // Last: stops first.
};

}  // namespace outpace::collective
