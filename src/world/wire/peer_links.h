// Connections between equals: workers that talk to each other without a server.
//
// Both sides prove that they know the job's token (handshake.h), and the one that connects says who
// it is. So no stranger is taken for a peer, nor keeps one from coming (lobby.h). Then the bare
// socket is the callers': nothing on it is encrypted.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/time.h"
#include "wire/byte_stream.h"
#include "wire/descriptor.h"
#include "wire/lobby.h"

namespace outpace::wire {

// Which of the peers connects. What the numbers mean is the callers'.
struct PeerName {
  std::uint32_t group = 0;
  std::uint32_t rank = 0;

  auto operator<=>(const PeerName&) const = default;  // NOLINT(modernize-use-nullptr)
};

class PeerListener {
 public:
  struct Options {
    std::string address;  // "127.0.0.1:0"
    std::string token;
    Duration keep_alive;                              // For the connections.
    std::function<void(const std::string&)> refused;  // As ServeOptions'; may be null.
  };
  // Throws a usage error if the address cannot be listened on.
  explicit PeerListener(const Options& options);

  // With the port that it got.
  [[nodiscard]] const std::string& address() const { return lobby_.address(); }
  // The connection of that peer, which does not block; none (negative) if it has not come by then,
  // or after stop().
  [[nodiscard]] Descriptor accept(const PeerName& from,
                                  std::chrono::steady_clock::time_point until);
  // From any thread.
  void stop();

 private:
  void admit(const ByteStream& stream);

  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<PeerName, Descriptor> peers_;
  bool stopped_ = false;
  Lobby lobby_;  // Last: its thread calls admit().
};

struct PeerVisit {
  std::string address;
  std::string token;
  PeerName self;
  std::chrono::steady_clock::time_point until;
  Duration keep_alive;
};
// A connection to a PeerListener, which does not block. Throws an Error if there is none, the other
// side does not know the token, or the time is up. `waker` ends the wait when it can be read.
[[nodiscard]] Descriptor connect_to_peer(const PeerVisit& visit, const Descriptor& waker);

}  // namespace outpace::wire
