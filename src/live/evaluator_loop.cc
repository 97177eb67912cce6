#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/mailbox.h"
#include "live/worker_loop.h"
#include "wire/transports.h"

namespace outpace::live {
namespace {

// The numbers of a message are finite; a loss that is not is at least this bad.
constexpr double kLossMax = 1e30;

}  // namespace

void run_evaluator(const SessionOptions& options, worker::Evaluator& evaluator) {
  Mailbox<wire::ConnectionEvent> mailbox;
  const auto transport =
      wire::connect({.address = options.server,
                     .token = options.token,
                     .deadline = options.deadline,
                     .tls = options.tls},
                    [&mailbox](wire::ConnectionEvent event) { mailbox.post(std::move(event)); });
  transport->authorise(evaluator.manifest().numbers());
  transport->send(protocol::Observe{.manifest = evaluator.manifest()}, nullptr);
  std::vector<wire::ConnectionEvent> events;
  while (true) {
    mailbox.receive(std::chrono::steady_clock::time_point::max(), events);
    for (const wire::ConnectionEvent& event : events) {
      if (const auto* closed = std::get_if<wire::Closed>(&event)) {
        throw wire::error_of(*closed, options.server);
      }
      const auto& received = std::get<wire::Received>(event);
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
