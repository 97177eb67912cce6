// Tested by test/program/join_test.py.

#include "live/guests.h"

namespace outpace::live {

Guests::Guests(Options options, admission::Admission& admission, Calls calls)
    : options_(std::move(options)), admission_(admission), calls_(std::move(calls)) {}

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

void Guests::answer(wire::ServerTransport& transport,
                    wire::ConnectionId asker,
                    ExitCode code,
                    const std::string& text) {
  transport.send(asker, protocol::Answer{code, text}, nullptr);
  transport.close(asker);
}

void Guests::ask_seats(wire::ServerTransport& transport,
                       wire::ConnectionId from,
                       const protocol::AskSeats& ask,
                       const std::optional<std::string>& over) {
  if (ask.protocol != protocol::kProtocolVersion) {
    calls_.refuse(from, protocol::Farewell::kIncompatible, admission::wrong_protocol(ask.protocol));
    return;
  }
  const auto proved = transport.proved(from);
  if (!proved) {
    return;  // It has gone.
  }
  if (proved->is_token() || !options_.keyring) {
    return answer(
        transport,
        from,
        ExitCode::kUsage,
        "numbers are given to machines that join by a code; with the token, say --worker");
  }
  if (over) {
    return answer(transport, from, ExitCode::kFailure, "the run is over: " + *over);
  }
  const std::string pass = Keyring::text_of(*proved);
  const auto given = admission_.give_seats(pass, ask.workers);
  if (!given) {
    return answer(transport,
                  from,
                  ExitCode::kFailure,
                  "the run is full: it takes at most " + std::to_string(options_.most) +
                      " workers (" + options_.full + ")");
  }
  for (const WorkerId worker : *given) {
    try {
      options_.keyring->seat(worker, *proved);
    } catch (const Error& error) {  // Only a server that goes on would miss it.
      calls_.warn(error.what());
    }
  }
  all_.insert_or_assign(from, Guest{.pass = pass, .workers = *given});
  protocol::Seats seats = options_.seats;
  seats.workers = *given;
  const bool several = given->size() > 1;
  calls_.warn(
      ask.host + " joins by the code, as " +
      (several ? "workers " + std::to_string(index(given->front())) : name(given->front())) +
      (several ? " to " + std::to_string(index(given->back())) : ""));
  transport.send(from, seats, nullptr);
}

void Guests::gone(wire::ConnectionId connection) {
  if (const auto guest = all_.find(connection); guest != all_.end()) {
    admission_.gave_up_seats(guest->second.pass);
    all_.erase(guest);
  }
}

bool Guests::due(Time now) {
  constexpr Duration kPeriod = std::chrono::seconds(1);
  const bool due = !all_.empty() && now - told_ >= kPeriod;
  told_ = due ? now : told_;
  return due;
}

void Guests::tell_all(wire::ServerTransport& transport,
                      const protocol::Status& status,
                      const server::Statistics& statistics) const {
  for (const auto& [connection, guest] : all_) {
    transport.send(connection, status_for(guest, status, statistics), nullptr);
  }
}

void Guests::dismiss(wire::ServerTransport& transport,
                     const protocol::Stop& stop,
                     const std::string& pass) {
  std::erase_if(all_, [&](const auto& one) {
    const bool meant = pass.empty() || one.second.pass == pass;
    if (meant) {
      transport.send(one.first, stop, nullptr);
      transport.close(one.first);
    }
    return meant;
  });
}

void Guests::send_away(wire::ServerTransport& transport,
                       wire::ConnectionId from,
                       const protocol::Expel& expel) {
  if (!commands(transport, from, expel.protocol)) {
    return;
  }
  const protocol::Stop stop{protocol::Farewell::kFenced, "sent away by outpace ctl"};
  const auto connection = admission_.holder(expel.worker);
  std::vector<WorkerId> workers;
  const std::string pass = admission_.take_back_seats(expel.worker, workers);
  if (!connection && pass.empty()) {
    return answer(
        transport, from, ExitCode::kFailure, name(expel.worker) + " takes no part at present");
  }
  if (pass.empty()) {
    workers = {expel.worker};
  } else {
    try {
      options_.keyring->shut_out(pass);
    } catch (const Error& error) {  // Only a server that goes on would miss it.
      calls_.warn(error.what());
    }
    dismiss(transport, stop, pass);
  }
  for (const WorkerId worker : workers) {
    if (const auto member = admission_.holder(worker)) {
      calls_.expel(*member, stop);
    }
  }
  transport.close_shut_out();  // Also an evaluator's, and those that have said nothing yet.
  answer(transport,
         from,
         ExitCode::kDone,
         pass.empty() ? name(expel.worker) +
                            " was sent away; it has the job's token, so it can "
                            "come back: end its process"
                      : name(expel.worker) + " was sent away, and its machine cannot come back; " +
                            "others join by a new code: outpace ctl RUN code");
}

void Guests::tell_code(wire::ServerTransport& transport,
                       wire::ConnectionId from,
                       const protocol::AskCode& ask) {
  if (!commands(transport, from, ask.protocol)) {
    return;
  }
  if (!options_.keyring) {
    return answer(transport,
                  from,
                  ExitCode::kFailure,
                  "this run has no code: its server listens without TLS, or on this machine alone");
  }
  try {
    answer(transport,
           from,
           ExitCode::kDone,
           ask.renew ? options_.keyring->renew() : options_.keyring->code());
  } catch (const Error& error) {
    answer(transport, from, error.code(), error.what());
  }
}

bool Guests::commands(wire::ServerTransport& transport,
                      wire::ConnectionId from,
                      std::uint32_t protocol) {
  if (protocol != protocol::kProtocolVersion) {
    calls_.refuse(from, protocol::Farewell::kIncompatible, admission::wrong_protocol(protocol));
    return false;
  }
  const auto proved = transport.proved(from);
  if (proved && !proved->is_token()) {
    answer(transport,
           from,
           ExitCode::kFailure,
           "a machine that joined by a code commands nothing; take the job's token");
    return false;
  }
  return proved.has_value();
}

}  // namespace outpace::live
