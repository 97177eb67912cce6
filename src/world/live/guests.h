// The machines that join a run by its code: their numbers, what they hear, and how one is sent
// away. For a server, and for the host of a run without one.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admission/admission.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "live/keyring.h"
#include "protocol/messages.h"
#include "server/statistics.h"
#include "wire/transport.h"

namespace outpace::live {

class Guests {
 public:
  struct Options {
    std::shared_ptr<Keyring> keyring;  // Null: nobody joins by a code.
    protocol::Seats seats;             // What they are told, but for their numbers.
    std::uint32_t most = 0;            // Workers of the run.
    std::string full;                  // What there is to do if it is full, for people.
  };
  // What the run does for them.
  struct Calls {
    std::function<void(wire::ConnectionId, protocol::Farewell, const std::string& why)> refuse;
    // This worker leaves the run.
    std::function<void(wire::ConnectionId, const protocol::Stop&)> expel;
    std::function<void(const std::string&)> warn;
  };
  // `admission` outlives this.
  Guests(Options options, admission::Admission& admission, Calls calls);

  // `over`: why the run is over; nothing: it is not.
  void ask_seats(wire::ServerTransport& transport,
                 wire::ConnectionId from,
                 const protocol::AskSeats& ask,
                 const std::optional<std::string>& over);
  void send_away(wire::ServerTransport& transport,
                 wire::ConnectionId from,
                 const protocol::Expel& expel);
  void tell_code(wire::ServerTransport& transport,
                 wire::ConnectionId from,
                 const protocol::AskCode& ask);
  // Whether this peer may command the run; otherwise it is answered.
  [[nodiscard]] bool commands(wire::ServerTransport& transport,
                              wire::ConnectionId from,
                              std::uint32_t protocol);
  // Its workers, if they ever came, may go on.
  void gone(wire::ConnectionId connection);

  // Whether they are to hear now how the run goes: once a second.
  [[nodiscard]] bool due(Time now);
  void tell_all(wire::ServerTransport& transport,
                const protocol::Status& status,
                const server::Statistics& statistics) const;
  // Those of this pass; empty: all.
  void dismiss(wire::ServerTransport& transport,
               const protocol::Stop& stop,
               const std::string& pass);

 private:
  struct Guest {
    std::string pass;  // By which it came.
    std::vector<WorkerId> workers;
  };
  static void answer(wire::ServerTransport& transport,
                     wire::ConnectionId asker,
                     ExitCode code,
                     const std::string& text);
  // The status for one of them.
  [[nodiscard]] static protocol::Status status_for(const Guest& guest,
                                                   protocol::Status status,
                                                   const server::Statistics& statistics);

  // Constant after construction.
  const Options options_;
  admission::Admission& admission_;
  const Calls calls_;
  // State.
  std::map<wire::ConnectionId, Guest> all_;  // The connection of each machine.
  Time told_{};
};

}  // namespace outpace::live
