// A proxy that does to a connection what a bad network does. It sees bytes alone, so it carries
// Unix sockets, TCP and TLS alike; what is encrypted stays so.
//
// It has an address for each link, say for each worker, and connects what comes there to the one
// server. Each link has its own faults:
//
//   disconnect   all its connections are reset
//   delay        bytes arrive later, in order
//   corrupt      one bit of each of the next chunks is flipped
//   half-open    connections stay open, and nothing passes, one way or both; new ones are accepted
//                and pass nothing either
//
// A proxy passes no descriptors, so who talks through it shares no memory.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "wire/address.h"
#include "wire/descriptor.h"

namespace outpace::chaos_run {

enum class Blocked : std::uint8_t { kNothing, kBothWays, kFromServer, kToServer };

class FaultProxy {
 public:
  // Listens at once, a link for each address. `seed`: of the bits that are flipped. Throws Error if
  // it cannot listen.
  FaultProxy(const std::vector<std::string>& listen, std::uint64_t seed);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  // Where clients of this link connect to. REQUIRES: link < the number of addresses.
  [[nodiscard]] const std::string& address(std::size_t link) const {
    return links_[link]->listener.address;
  }

  // From any thread. Where connections go from now on; those that cannot reach it are reset.
  void set_server(const std::string& address);
  // REQUIRES, below: link < the number of addresses.
  void disconnect(std::size_t link);
  void delay(std::size_t link, Duration by);
  void corrupt(std::size_t link, std::uint64_t chunks);
  // Nothing blocked: what waited passes on.
  void block(std::size_t link, Blocked blocked);

  // Chunks of the link that are still to be corrupted.
  [[nodiscard]] std::uint64_t still_to_corrupt(std::size_t link);

 private:
  using Clock = std::chrono::steady_clock;

  struct Link {
    wire::Listener listener;
    // Guarded by mutex_.
    Duration delay{};
    std::uint64_t corrupt = 0;
    Blocked blocked = Blocked::kNothing;
    bool disconnect = false;
  };
  struct Chunk {
    Clock::time_point due;
    std::vector<char> bytes;
  };
  struct Flow {
    int from = -1;
    int to = -1;
    bool to_server = false;
    std::deque<Chunk> chunks;
    std::size_t sent_of_first = 0;
    std::size_t queued = 0;  // Bytes.
    std::uint64_t read = 0;  // Bytes, in all.
    bool ended = false;      // `from` sends nothing more.
    bool told = false;       // `to` knows that.
  };
  struct Connection {
    std::size_t link;
    wire::Descriptor client;
    wire::Descriptor server;
    Flow to_server;
    Flow from_server;
    bool broken = false;
  };

  void run(const std::stop_token& stop);
  void accept_all();
  void open(std::size_t link, wire::Descriptor client);
  // The faults of a link now, and takes its disconnect.
  [[nodiscard]] bool take_disconnect(std::size_t link);
  [[nodiscard]] bool is_blocked(const Link& link, const Flow& flow);
  void pass(Connection& connection, Flow& flow, Clock::time_point now);
  bool read_some(Connection& connection, Flow& flow, Clock::time_point now);
  bool write_some(Connection& connection, Flow& flow, Clock::time_point now);
  void spoil(Link& link, Flow& flow, std::vector<char>& bytes);
  // Waits until something can be done, at most a moment.
  void wait(Clock::time_point now);
  void wake();

  std::vector<std::unique_ptr<Link>> links_;
  const wire::Descriptor waker_;
  std::mutex passing_;  // Held while bytes pass in one direction; before mutex_.
  std::mutex mutex_;
  std::string server_;  // Guarded by mutex_; empty: none yet.
  // The thread's:
  std::list<Connection> connections_;
  Rng rng_;
  std::jthread thread_;  // Last: stops first.
};

}  // namespace outpace::chaos_run
