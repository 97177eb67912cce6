// A worker's connection to the process that keeps the record of a run without a server (host.h): it
// reports, is told when to begin and when to end, and brings its weights when it is asked for them.
// No gradient goes this way.
//
// The messages are those of the parameter server, with other payloads:
//   worker  Hello            all its connections to the other workers are there
//   host    Welcome          all have come: begin; the run's clock shows 0
//   worker  Push             a gradient was computed; the payload is one number, its runtime
//   host    Snapshot         bring your weights; without a payload
//   worker  Snapshot         the weights; asked for, or by itself
//   host    Stop             compute no more
//   worker  Goodbye          computes no more, and awaits nothing of another worker
// then the host asks for the last weights, and closes the connection.
//
// Threads: the transport's delivers, one sends heartbeats, and the caller's computes; one mutex.

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
#include "live/transport.h"
#include "live/worker_session.h"
#include "protocol/messages.h"

namespace outpace::collective {

class Member {
 public:
  // What is sent when the host asks for weights; called on a thread of the transport.
  using Weights = std::function<std::vector<float>()>;

  // Connects, and returns when the run begins. Throws Error. `offer`'s initial weights are not
  // asked for.
  Member(const live::SessionOptions& options, const live::Offer& offer, Weights weights);
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // On the run's clock.
  [[nodiscard]] Time now() const;
  // The host said stop, or is gone.
  [[nodiscard]] bool stopping() const;
  // Until the run's clock shows `time`, or the host says stop.
  void sleep_until(Time time);

  struct Report {
    Sequence sequence;       // Of this worker's gradients: 1, 2, ...
    std::uint32_t examples;  // At least 1.
    double loss;             // Mean; may be infinite or NaN, which no message can say.
    double compute_seconds;
    double runtime;  // Seconds from the weights to the gradient, delays included.
  };
  void report(const Report& report);
  void bring(Version version, std::vector<float> weights);
  // Says that this worker computes no more, and returns when the host has closed the connection.
  // Throws Error if it ended otherwise.
  void leave();

 private:
  void receive(live::ConnectionEvent event);
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
  std::optional<live::Closed> closed_;
  std::unique_ptr<live::ClientTransport> transport_;
  std::mutex heart_mutex_;
  std::condition_variable_any heart_stopped_;
  std::jthread heart_;  // Last: stops first.
};

}  // namespace outpace::collective
