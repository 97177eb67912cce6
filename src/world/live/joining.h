// The connection of `outpace join` to a job's server: it asks for the numbers of this machine's
// workers, and then hears how the run goes until it ends. It connects again when it is lost.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "live/mailbox.h"
#include "protocol/messages.h"
#include "wire/join_code.h"
#include "wire/transports.h"

namespace outpace::live {

class Joining {
 public:
  struct Options {
    wire::JoinCode code;
    std::string server;  // In place of the code's addresses; empty: those.
    std::string pass;    // The text of a pass of the code.
    std::uint32_t workers = 1;
    std::string host;                                // This machine, for people.
    Duration deadline = std::chrono::seconds(60);    // To reach the server.
    Duration rejoin_for = std::chrono::minutes(10);  // When the connection is lost.
    std::function<void(const std::string&)> say;     // News for people.
    std::function<bool()> given_up;                  // Whether nobody waits any more.
  };
  explicit Joining(Options options) : options_(std::move(options)) {}

  // Tries all addresses until the deadline. Throws Error: no server answers, or it refuses.
  [[nodiscard]] protocol::Seats ask();
  // Where the server was reached.
  [[nodiscard]] const std::string& server() const { return server_; }

  // What has come since the last call, which waits for it for this long: the newest status, and
  // how the run ended. Connects again for `rejoin_for`; after that, or if the server refuses, it
  // throws Error.
  struct News {
    std::optional<protocol::Status> status;
    std::optional<protocol::Stop> stop;
  };
  [[nodiscard]] News hear(std::chrono::milliseconds wait);

 private:
  using Clock = std::chrono::steady_clock;

  void connect(const std::string& address, Duration deadline);
  // The numbers, over a new connection; nothing if this address does not answer, and `why` says so.
  [[nodiscard]] std::optional<protocol::Seats> ask_at(const std::string& address, std::string& why);
  [[nodiscard]] protocol::Seats ask_until(Clock::time_point until);

  const Options options_;
  std::string server_;
  std::shared_ptr<Mailbox<wire::ConnectionEvent>> mailbox_;
  std::unique_ptr<wire::ClientTransport> transport_;
  std::optional<Clock::time_point> lost_;  // Since then there is no connection.
};

}  // namespace outpace::live
