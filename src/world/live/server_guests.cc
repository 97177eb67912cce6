// Machines that join by a code (guests.h).
// Tested by test/program/join_test.py.

#include "live/server.h"

namespace outpace::live {

Guests::Options Server::guest_options(const ServerOptions& options) {
  return {.keyring = options.keyring,
          .seats = options.seats,
          .most = options.coordinator.workers,
          .full = "--max-workers of the server"};
}

Guests::Calls Server::guest_calls() {
  return {.refuse = [this](wire::ConnectionId peer,
                           protocol::Farewell how,
                           const std::string& why) { refuse(now(), peer, how, why); },
          .expel = [this](wire::ConnectionId worker,
                          const protocol::Stop& stop) { expel(now(), worker, stop.why, stop.how); },
          .warn = [this](const std::string& text) { warn(text); }};
}

void Server::tell_guests(Time now) {
  if (begun() && guests_.due(now)) {
    guests_.tell_all(*transport_, status(now), coordinator_->statistics());
  }
}

void Server::end_guests(Time now) {
  if (begun()) {
    guests_.tell_all(*transport_, status(now), coordinator_->statistics());
  }
  const bool done = admission_.end()->code == ExitCode::kDone;
  guests_.dismiss(
      *transport_,
      {done ? protocol::Farewell::kFinished : protocol::Farewell::kFailed, admission_.end()->why},
      "");
}

}  // namespace outpace::live
