// A group of processes that communicate without a server: sums over all processes, and messages
// between two. Uses Gloo through libtorch's c10d, unencrypted, over loopback unless another network
// interface is named.
//
// Each process has a rank from 0 to size - 1. All join with the same rendezvous file, through which
// they find each other's ports; no port is fixed. Every failure, such as a dead process or a closed
// connection, is an Error with the code kTooFewWorkers. SIGPIPE is ignored in the whole process
// once the first group exists. This is the only file that uses c10d, and it shows none of c10d's
// headers.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/time.h"

namespace outpace::collective {

struct GroupOptions {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  // A file that does not exist yet, or that the other processes are writing.
  std::string rendezvous;
  Duration deadline = std::chrono::seconds(60);  // For all processes to join.
  std::string interface;  // Network interface, such as "eth0"; empty: loopback.
};

class GlooGroup {
 public:
  // Returns when all processes have joined.
  explicit GlooGroup(const GroupOptions& options);
  ~GlooGroup();
  GlooGroup(const GlooGroup&) = delete;
  GlooGroup& operator=(const GlooGroup&) = delete;

  // Starts replacing each number by its sum over all processes, by a ring all-reduce, and returns
  // at once. REQUIRES: all processes start sums of the same lengths in the same order; the numbers
  // stay alive and untouched until wait_for_sums().
  void begin_sum(std::span<float> numbers);
  // Waits until every started sum is complete.
  void wait_for_sums();

  // Sends to or receives from another rank. `tag` separates the conversations of a pair. Any thread
  // may call these, but only one at a time per tag.
  void send(std::uint32_t to, std::uint32_t tag, std::span<const float> numbers);
  void receive(std::uint32_t from, std::uint32_t tag, std::span<float> numbers);
  // Receives from the first sender and returns its rank; nothing after stop_receiving().
  [[nodiscard]] std::optional<std::uint32_t> receive_any(std::uint32_t tag,
                                                         std::span<float> numbers);
  // Ends the present receive_any() and all later ones. From any thread.
  void stop_receiving();

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace outpace::collective
