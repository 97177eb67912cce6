#include <chrono>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "live/mailbox.h"
#include "live/worker_loop.h"
#include "wire/transports.h"

namespace outpace::live {
namespace {

// The numbers of a message are finite; a loss that is not is at least this bad.
constexpr double kLossMax = 1e30;

// Measures until the run is over, or why the connection ended before.
std::optional<wire::Closed> observe(const SessionOptions& options, worker::Evaluator& evaluator) {
  Mailbox<wire::ConnectionEvent> mailbox;
  const auto transport =
      wire::connect({.address = options.server,
                     .token = options.token,
                     .deadline = options.deadline,
                     .tls = options.tls,
                     .keep_alive = options.keep_alive},
                    [&mailbox](wire::ConnectionEvent event) { mailbox.post(std::move(event)); });
  transport->authorise(evaluator.manifest().numbers());
  transport->send(protocol::Observe{.manifest = evaluator.manifest()}, nullptr);
  std::vector<wire::ConnectionEvent> events;
  while (true) {
    mailbox.receive(std::chrono::steady_clock::time_point::max(), events);
    for (const wire::ConnectionEvent& event : events) {
      if (const auto* closed = std::get_if<wire::Closed>(&event)) {
        return *closed;
      }
      const auto& received = std::get<wire::Received>(event);
      if (const auto* stop = std::get_if<protocol::Stop>(&received.message)) {
        if (stop->how == protocol::Farewell::kIncompatible) {
          throw Error(ExitCode::kIncompatible, stop->why);
        }
        return std::nullopt;
      }
      if (const auto* snapshot = std::get_if<protocol::Snapshot>(&received.message)) {
        const worker::Evaluation found = evaluator.evaluate(received.payload);
        transport->send(
            protocol::Measurement{.version = snapshot->version,
                                  .accuracy = found.accuracy,
                                  .loss = std::isfinite(found.loss) ? found.loss : kLossMax},
            nullptr);
      }
    }
  }
}

}  // namespace

void run_evaluator(const SessionOptions& options,
                   worker::Evaluator& evaluator,
                   Duration rejoin_for) {
  constexpr auto kLasted = std::chrono::minutes(1);
  SessionOptions attempt = options;
  Backoff backoff(std::random_device{}());
  while (true) {
    const auto begun = std::chrono::steady_clock::now();
    const std::optional<wire::Closed> closed = observe(attempt, evaluator);
    if (!closed) {
      return;
    }
    if (closed->refused || !closed->reached || rejoin_for == Duration{}) {
      throw wire::error_of(*closed, options.server);
    }
    attempt.deadline = rejoin_for;
    if (std::chrono::steady_clock::now() - begun >= kLasted) {
      backoff = Backoff(std::random_device{}());
    }
    std::this_thread::sleep_for(backoff.next({}));
  }
}

}  // namespace outpace::live
