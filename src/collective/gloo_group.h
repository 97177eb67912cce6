// The processes of a job that talk to each other and to no server: sums over all of them, and
// numbers from one to another. Gloo's, through libtorch's c10d, unencrypted: over loopback unless
// another network interface is named.
//
// Every process has a rank, 0 to size - 1, and makes the group with the same rendezvous file, which
// is how they find each other's ports: none is fixed. Whatever goes wrong on the way (a process
// that died, a closed connection) is an Error with the code kTooFewWorkers, and no signal: SIGPIPE
// is ignored in the whole process from the first group on. The only place with c10d; no header of
// it shows here.

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
  std::string rendezvous;  // A file that is not there yet, or is being written by the others.
  Duration deadline = std::chrono::seconds(60);  // For all to come.
  std::string interface;                         // Of the network: "eth0"; empty: loopback.
};

class GlooGroup {
 public:
  // Returns when all are there.
  explicit GlooGroup(const GroupOptions& options);
  ~GlooGroup();
  GlooGroup(const GlooGroup&) = delete;
  GlooGroup& operator=(const GlooGroup&) = delete;

  // Begins to replace each number by the sum of its values in all processes, and returns at once: a
  // ring all-reduce. REQUIRES: all processes begin sums of the same lengths in the same order; the
  // numbers are left alone, and live, until wait_for_sums().
  void begin_sum(std::span<float> numbers);
  // Until every sum that was begun is there.
  void wait_for_sums();

  // To and from another rank, whole; `tag` tells two conversations of a pair apart. Any thread; no
  // two of one tag at a time.
  void send(std::uint32_t to, std::uint32_t tag, std::span<const float> numbers);
  void receive(std::uint32_t from, std::uint32_t tag, std::span<float> numbers);
  // From whoever sends first: says who. Nothing after stop_receiving().
  [[nodiscard]] std::optional<std::uint32_t> receive_any(std::uint32_t tag,
                                                         std::span<float> numbers);
  // Ends the receive_any() in hand and those to come. From any thread.
  void stop_receiving();

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace outpace::collective
