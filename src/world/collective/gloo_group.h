// A group of processes that communicate without a server: sums over all processes, and messages
// between two. Uses Gloo.
//
// Each process has a rank from 0 to size - 1, and knows where the others wait for it. Each pair
// proves the group's key to each other before Gloo gets their connection (peer_sockets.h), which
// ends when the other machine has not answered for `dead_link`. A connection by TLS is carried by a
// thread of the group's (wire/stream_relay.h): Gloo takes bare sockets. A group that lost a process
// is over: whatever waits
// for that process throws GroupBroken, and a new group is made of those that are left. From any
// thread, abort() breaks the group at once, so that nothing waits for a process that is silent, nor
// in receive_any(), which waits for none in particular.
// SIGPIPE is ignored in the whole process once the first group exists. No other file uses Gloo, and
// this one shows none of Gloo's headers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "collective/swap.h"
#include "protocol/messages.h"
#include "wire/peer_links.h"

namespace outpace::collective {

struct GroupOptions {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t generation = 1;  // Differs from that of the groups before and after.
  Duration deadline = std::chrono::seconds(10);   // For all processes to join.
  Duration dead_link = std::chrono::seconds(10);  // A machine that is silent for this time is away.
  std::vector<protocol::PeerPlace> places{};      // One of each process, by rank.
  std::shared_ptr<wire::PeerLinks> links{};       // This process's, which expect the group.
};

// The group is over: a process died, closed its connections, or aborted.
class GroupBroken : public Error {
 public:
  explicit GroupBroken(const std::string& why) : Error(ExitCode::kTooFewWorkers, why) {}
};

class GlooGroup {
 public:
  // Connects to nobody yet.
  explicit GlooGroup(const GroupOptions& options);
  // Aborts what still waits.
  ~GlooGroup();
  GlooGroup(const GlooGroup&) = delete;
  GlooGroup& operator=(const GlooGroup&) = delete;

  // Returns when all processes have joined. REQUIRES: called once, before what follows.
  void join();

  // Starts replacing each number by its sum over all processes, by a ring all-reduce, and returns
  // at once. REQUIRES: all processes start sums of the same lengths in the same order; the numbers
  // stay alive and untouched until wait_for_sums().
  void begin_sum(std::span<float> numbers);
  // Starts a sum of another kind: `sum` is called with a Swap on a thread of the group. REQUIRES:
  // as begin_sum(); all processes call their Swap as often.
  void begin(std::function<void(const Swap&)> sum);
  // Waits until no sum goes on. After an exception the numbers are undefined. Throws what a sum of
  // another kind has thrown, in place of GroupBroken.
  void wait_for_sums();

  // Sends to or receives from another rank. `tag` separates the conversations of a pair. Any thread
  // may call these, but only one at a time per tag.
  void send(std::uint32_t to, std::uint32_t tag, std::span<const std::byte> bytes);
  void send(std::uint32_t to, std::uint32_t tag, std::span<const float> numbers) {
    send(to, tag, std::as_bytes(numbers));
  }
  void receive(std::uint32_t from, std::uint32_t tag, std::span<std::byte> bytes);
  void receive(std::uint32_t from, std::uint32_t tag, std::span<float> numbers) {
    receive(from, tag, std::as_writable_bytes(numbers));
  }
  // Both at once, so that a link carries both ways. The other rank does the same with the tags the
  // other way round.
  void exchange(std::uint32_t with,
                std::uint32_t send_tag,
                std::span<const std::byte> bytes,
                std::uint32_t receive_tag,
                std::span<std::byte> theirs);
  void exchange(std::uint32_t with,
                std::uint32_t send_tag,
                std::span<const float> numbers,
                std::uint32_t receive_tag,
                std::span<float> theirs) {
    exchange(with, send_tag, std::as_bytes(numbers), receive_tag, std::as_writable_bytes(theirs));
  }
  // Receives from the first sender and returns its rank; nothing after stop_receiving().
  [[nodiscard]] std::optional<std::uint32_t> receive_any(std::uint32_t tag,
                                                         std::span<std::byte> bytes);
  [[nodiscard]] std::optional<std::uint32_t> receive_any(std::uint32_t tag,
                                                         std::span<float> numbers) {
    return receive_any(tag, std::as_writable_bytes(numbers));
  }
  // Ends the present receive_any() and all later ones. From any thread.
  void stop_receiving();
  // Breaks the group, also while it joins. From any thread; does not wait.
  void abort();

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace outpace::collective
