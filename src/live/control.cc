#include "live/control.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "live/mailbox.h"
#include "live/transports.h"

namespace outpace::live {
namespace {

[[noreturn]] void throw_unanswered(const ControlOptions& options, const Closed& closed) {
  if (closed.authentication) {
    throw Error(ExitCode::kAuthentication,
                options.server + ": the server refused the token; is --token-file the server's?");
  }
  throw Error(
      ExitCode::kFailure,
      options.server + ": " + printable(closed.why) + "; is the run over, or its server gone?");
}

}  // namespace

protocol::Message ask(const ControlOptions& options, const protocol::Message& question) {
  Mailbox<ConnectionEvent> mailbox;
  const auto transport =
      connect({.address = options.server, .token = options.token, .deadline = options.deadline},
              [&mailbox](ConnectionEvent event) { mailbox.post(std::move(event)); });
  transport->send(question, nullptr);
  const auto end = std::chrono::steady_clock::now() + options.deadline + options.patience;
  std::vector<ConnectionEvent> events;
  while (true) {
    mailbox.receive(end, events);
    if (events.empty()) {
      throw Error(ExitCode::kFailure,
                  options.server + ": no answer in time; what was asked for may still come about");
    }
    for (ConnectionEvent& event : events) {
      if (const auto* closed = std::get_if<Closed>(&event)) {
        throw_unanswered(options, *closed);
      }
      protocol::Message& message = std::get<Received>(event).message;
      if (const auto* stop = std::get_if<protocol::Stop>(&message)) {
        throw Error(stop->how == protocol::Farewell::kIncompatible ? ExitCode::kIncompatible
                                                                   : ExitCode::kFailure,
                    stop->why);
      }
      if (std::holds_alternative<protocol::Answer>(message) ||
          std::holds_alternative<protocol::Status>(message)) {
        return std::move(message);
      }
    }
  }
}

}  // namespace outpace::live
