// Machines that join by a code: their numbers, what they hear, and how one is sent away.
// Tested by test/program/join_test.py.

#include <algorithm>

#include "live/server.h"

namespace outpace::live {

protocol::Status Guests::status_for(const Guest& guest,
                                    protocol::Status status,
                                    const server::Statistics& statistics) {
  for (const WorkerId worker : guest.workers) {
    protocol::Status::Seat seat{.worker = worker};
    if (index(worker) < statistics.workers.size()) {
      const server::WorkerStatistics& counted = statistics.workers[index(worker)];
      seat.live = counted.live;
      seat.answered = counted.iterations();
      seat.counted = counted.accepted;
    }
    status.seats.push_back(seat);
  }
  return status;
}

void Server::ask_seats(Time now, wire::ConnectionId from, const protocol::AskSeats& ask) {
  if (ask.protocol != protocol::kProtocolVersion) {
    refuse(now, from, protocol::Farewell::kIncompatible, admission::wrong_protocol(ask.protocol));
    return;
  }
  const auto proved = transport_->proved(from);
  if (!proved) {
    return;  // It has gone.
  }
  if (proved->is_token() || !options_.keyring) {
    return answer(
        from,
        ExitCode::kUsage,
        "numbers are given to machines that join by a code; with the token, say --worker");
  }
  if (admission_.end()) {
    return answer(from, ExitCode::kFailure, "the run is over: " + admission_.end()->why);
  }
  const std::string pass = Keyring::text_of(*proved);
  const auto given = admission_.give_seats(pass, ask.workers);
  if (!given) {
    return answer(from,
                  ExitCode::kFailure,
                  "the run is full: it takes at most " +
                      std::to_string(options_.coordinator.workers) +
                      " workers (--max-workers of the server)");
  }
  for (const WorkerId worker : *given) {
    try {
      options_.keyring->seat(worker, *proved);
    } catch (const Error& error) {  // Only a server that goes on would miss it.
      warn(error.what());
    }
  }
  guests_.came(from, {.pass = pass, .workers = *given});
  protocol::Seats seats = options_.seats;
  seats.workers = *given;
  const bool several = given->size() > 1;
  warn(ask.host + " joins by the code, as " +
       (several ? "workers " + std::to_string(index(given->front())) : name(given->front())) +
       (several ? " to " + std::to_string(index(given->back())) : ""));
  transport_->send(from, seats, nullptr);
}

void Server::tell_guests(Time now) {
  if (begun() && guests_.due(now)) {
    tell_all_guests(now);
  }
}

void Server::tell_all_guests(Time now) {
  for (const auto& [connection, guest] : guests_.all()) {
    transport_->send(
        connection, Guests::status_for(guest, status(now), coordinator_->statistics()), nullptr);
  }
}

void Server::end_guests(Time now) {
  if (begun()) {
    tell_all_guests(now);
  }
  const bool done = admission_.end()->code == ExitCode::kDone;
  dismiss_guests(
      {done ? protocol::Farewell::kFinished : protocol::Farewell::kFailed, admission_.end()->why},
      "");
}

void Server::dismiss_guests(const protocol::Stop& stop, const std::string& pass) {
  const auto all = guests_.all();
  for (const auto& [connection, guest] : all) {
    if (pass.empty() || guest.pass == pass) {
      transport_->send(connection, stop, nullptr);
      transport_->close(connection);
      guests_.gone(connection);
    }
  }
}

void Server::send_away(Time now, wire::ConnectionId from, const protocol::Expel& expel) {
  if (!commands(now, from, expel.protocol)) {
    return;
  }
  const protocol::Stop stop{protocol::Farewell::kFenced, "sent away by outpace ctl"};
  const auto connection = admission_.member(expel.worker);
  std::vector<WorkerId> workers;
  const std::string pass = admission_.take_back_seats(expel.worker, workers);
  if (!connection && pass.empty()) {
    return answer(from, ExitCode::kFailure, name(expel.worker) + " takes no part at present");
  }
  if (pass.empty()) {
    workers = {expel.worker};
  } else {
    try {
      options_.keyring->shut_out(pass);
    } catch (const Error& error) {  // Only a server that goes on would miss it.
      warn(error.what());
    }
    dismiss_guests(stop, pass);
  }
  for (const WorkerId worker : workers) {
    if (const auto member = admission_.holder(worker)) {
      this->expel(now, *member, stop.why, stop.how);
    }
  }
  transport_->close_shut_out();  // Also an evaluator's, and those that have said nothing yet.
  answer(from,
         ExitCode::kDone,
         pass.empty() ? name(expel.worker) +
                            " was sent away; it has the job's token, so it can "
                            "come back: end its process"
                      : name(expel.worker) + " was sent away, and its machine cannot come back; " +
                            "others join by a new code: outpace ctl RUN code");
}

void Server::tell_code(Time now, wire::ConnectionId from, const protocol::AskCode& ask) {
  if (!commands(now, from, ask.protocol)) {
    return;
  }
  if (!options_.keyring) {
    return answer(from,
                  ExitCode::kFailure,
                  "this run has no code: its server listens without TLS, or on this machine alone");
  }
  try {
    answer(from, ExitCode::kDone, ask.renew ? options_.keyring->renew() : options_.keyring->code());
  } catch (const Error& error) {
    answer(from, error.code(), error.what());
  }
}

bool Server::commands(Time now, wire::ConnectionId from, std::uint32_t protocol) {
  if (protocol != protocol::kProtocolVersion) {
    refuse(now, from, protocol::Farewell::kIncompatible, admission::wrong_protocol(protocol));
    return false;
  }
  const auto proved = transport_->proved(from);
  if (proved && !proved->is_token()) {
    answer(from,
           ExitCode::kFailure,
           "a machine that joined by a code commands nothing; take the job's token");
    return false;
  }
  return proved.has_value();
}

}  // namespace outpace::live
