// Tested by test/program/switch_test.py (class Control).

#include "live/control.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "live/mailbox.h"
#include "wire/transports.h"

namespace outpace::live {
namespace {

[[noreturn]] void throw_unanswered(const ControlOptions& options, const wire::Closed& closed) {
  if (closed.refused) {
    throw wire::error_of(closed, options.server);
  }
  throw Error(ExitCode::kFailure,
              options.server + ": " + closed.why + "; is the run over, or its server gone?");
}

}  // namespace

protocol::Message ask(const ControlOptions& options, const protocol::Message& question) {
  Mailbox<wire::ConnectionEvent> mailbox;
  const auto transport =
      wire::connect({.address = options.server,
                     .token = options.token,
                     .deadline = options.deadline,
                     .tls = options.tls},
                    [&mailbox](wire::ConnectionEvent event) { mailbox.post(std::move(event)); });
  transport->send(question, nullptr);
  const auto end = std::chrono::steady_clock::now() + options.deadline + options.patience;
  std::vector<wire::ConnectionEvent> events;
  while (true) {
    mailbox.receive(end, events);
    if (events.empty()) {
      throw Error(ExitCode::kFailure,
                  options.server + ": no answer in time; what was asked for may still come about");
    }
    for (wire::ConnectionEvent& event : events) {
      if (const auto* closed = std::get_if<wire::Closed>(&event)) {
        throw_unanswered(options, *closed);
      }
      protocol::Message& message = std::get<wire::Received>(event).message;
      if (const auto* stop = std::get_if<protocol::Stop>(&message)) {
        throw Error(stop->how == protocol::Farewell::kIncompatible ? ExitCode::kIncompatible
                                                                   : ExitCode::kFailure,
                    stop->why);
      }
      if (std::holds_alternative<protocol::Answer>(message) ||
          std::holds_alternative<protocol::Evaluated>(message) ||
          std::holds_alternative<protocol::Status>(message)) {
        return std::move(message);
      }
    }
  }
}

}  // namespace outpace::live
