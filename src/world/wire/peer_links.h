// Connections between equals: workers that talk to each other without a server.
//
// A worker has one object of this class for its life. It listens at a free port, and what it says
// of that, its place, goes to the other workers by way of their host. Each group of workers has a
// key of its own: both sides prove that they know it (handshake.h), and the one that connects says
// which member it is. So no stranger is taken for a peer, nor keeps one from coming (lobby.h), and
// neither is one that was of an earlier group alone. Between machines a link is TLS 1.3: the
// listener has made itself a certificate, the one that connects knows its fingerprint by the host,
// and the proofs are bound to the connection. Without TLS nothing on a link is encrypted.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "protocol/messages.h"
#include "wire/byte_stream.h"
#include "wire/descriptor.h"
#include "wire/lobby.h"
#include "wire/passes.h"
#include "wire/tls_stream.h"

namespace outpace::wire {

// From the system's source of randomness, for protocol::Regroup. Throws an Error if there is none.
[[nodiscard]] std::string draw_group_key();

// Which of the peers connects: a member of the group of this generation.
struct PeerName {
  std::uint32_t group = 0;
  std::uint32_t rank = 0;

  auto operator<=>(const PeerName&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct PeerVisit {
  protocol::PeerPlace to;
  PeerName self;
  std::chrono::steady_clock::time_point until;
  Duration keep_alive;
};

class PeerLinks final : private Passes {
 public:
  struct Options {
    // Without a port. 0.0.0.0 and [::] stand for all addresses of this machine.
    std::string host = "127.0.0.1";
    bool sealed = false;                              // By TLS.
    std::function<void(const std::string&)> refused;  // As ServeOptions'; may be null.
  };
  // Throws a usage error if the address cannot be listened on.
  explicit PeerLinks(const Options& options);
  ~PeerLinks() override = default;
  PeerLinks(const PeerLinks&) = delete;
  PeerLinks& operator=(const PeerLinks&) = delete;

  [[nodiscard]] const protocol::PeerPlace& place() const { return place_; }
  [[nodiscard]] bool sealed() const { return tls_ != nullptr; }

  // From now on there are links of this group alone, by this key.
  void expect(std::uint32_t group, const std::string& key);
  // The connection of that peer, which does not block; null if it has not come by then, or once
  // `given_up`.
  [[nodiscard]] std::unique_ptr<ByteStream> accept(const PeerName& from,
                                                   std::chrono::steady_clock::time_point until,
                                                   Duration keep_alive,
                                                   const std::function<bool()>& given_up);
  // From any thread: accept() asks `given_up` again.
  void wake();
  // A connection to a peer, which does not block. Throws an Error if there is none, the other side
  // is another one or does not know the key, or the time is up. `waker` ends the wait when it can
  // be read.
  [[nodiscard]] std::unique_ptr<ByteStream> connect(const PeerVisit& visit,
                                                    const Descriptor& waker) const;

 private:
  [[nodiscard]] std::optional<std::array<char, 32>> find(const KeyName& name) override;
  void admit(std::unique_ptr<ByteStream> stream, const Proven& proven);
  [[nodiscard]] std::string key_of(std::uint32_t group) const;

  // Constant after construction.
  std::unique_ptr<TlsContext> tls_;  // Null: without TLS.
  protocol::PeerPlace place_;
  // Guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t group_ = 0;
  std::string key_;
  std::map<PeerName, std::unique_ptr<ByteStream>> peers_;  // That wait to be accepted.
  std::optional<Lobby> lobby_;  // Last: its thread calls find() and admit().
};

}  // namespace outpace::wire
