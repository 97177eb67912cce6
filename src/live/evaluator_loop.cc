#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "live/mailbox.h"
#include "live/transports.h"
#include "live/worker_loop.h"

namespace outpace::live {
namespace {

// The numbers of a message are finite; a loss that is not is at least this bad.
constexpr double kLossMax = 1e30;

[[noreturn]] void throw_closed(const SessionOptions& options, const Closed& closed) {
  if (closed.authentication) {
    throw Error(ExitCode::kAuthentication,
                options.server + ": the server refused the token; is --token-file the server's?");
  }
  throw Error(ExitCode::kFailure, options.server + ": " + printable(closed.why));
}

}  // namespace

void run_evaluator(const SessionOptions& options, worker::Evaluator& evaluator) {
  Mailbox<ConnectionEvent> mailbox;
  const auto transport =
      connect({.address = options.server, .token = options.token, .deadline = options.deadline},
              [&mailbox](ConnectionEvent event) { mailbox.post(std::move(event)); });
  transport->authorise(evaluator.manifest().numbers());
  transport->send(protocol::Observe{.manifest = evaluator.manifest()}, nullptr);
  std::vector<ConnectionEvent> events;
  while (true) {
    mailbox.receive(std::chrono::steady_clock::time_point::max(), events);
    for (const ConnectionEvent& event : events) {
      if (const auto* closed = std::get_if<Closed>(&event)) {
        throw_closed(options, *closed);
      }
      const auto& received = std::get<Received>(event);
      if (const auto* stop = std::get_if<protocol::Stop>(&received.message)) {
        if (stop->how == protocol::Farewell::kIncompatible) {
          throw Error(ExitCode::kIncompatible, stop->why);
        }
        return;
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

}  // namespace outpace::live
