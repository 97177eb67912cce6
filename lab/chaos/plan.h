// The plan of a chaos run: what job runs, and which fault comes when. Drawn from a seed, so that
// the seed alone brings the same plan back.
//
// Swarm testing: each plan first draws which kinds of faults it has at all, so that no kind is
// drowned by the others. Half of the seeds have a proxy between workers and server, which alone can
// break connections; the other half share memory, which a proxy would rule out.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace outpace::chaos {

enum class Kind : std::uint8_t {
  kKill,        // SIGKILL; started again after a while.
  kStop,        // SIGSTOP, then SIGCONT.
  kSlow,        // Stopped for part of each moment.
  kDisconnect,  // Its connections are reset.
  kDelay,       // Its bytes arrive late.
  kCorrupt,     // Bits of what it sends and receives are flipped.
  kHalfOpen,    // Its connections stay open, and nothing passes, one way or both.
  kDiskFull,    // No file of the server can grow.
  kClockJump,   // Its wall clock jumps.
  kBallast,     // Another process takes memory.
};
inline constexpr std::array<std::string_view, 10> kKindWords{"kill",
                                                             "stop",
                                                             "slow",
                                                             "disconnect",
                                                             "delay",
                                                             "corrupt",
                                                             "half-open",
                                                             "disk-full",
                                                             "clock-jump",
                                                             "ballast"};
[[nodiscard]] constexpr std::string_view word(Kind kind) {
  return kKindWords[static_cast<std::size_t>(kind)];
}
[[nodiscard]] std::optional<Kind> kind_of(std::string_view word);
// By the proxy alone.
[[nodiscard]] bool is_of_network(Kind kind);

// How workers and server are connected.
enum class Carrier : std::uint8_t {
  kSharedMemory,  // A Unix socket without a proxy.
  kUnix,          // The rest through the proxy.
  kTcp,
  kTls,
};
inline constexpr std::array<std::string_view, 4> kCarrierWords{
    "shared-memory", "unix", "tcp", "tls"};
[[nodiscard]] constexpr std::string_view word(Carrier carrier) {
  return kCarrierWords[static_cast<std::size_t>(carrier)];
}
[[nodiscard]] std::optional<Carrier> carrier_of(std::string_view word);

// Under these an accepted gradient counts in full, so that a ledger of whole numbers audits it.
inline constexpr std::array<std::string_view, 6> kAuditedPolicies{
    "sync", "dynamic", "async", "saps", "ssp", "softsync"};

struct Fault {
  Duration at{};  // Since the first fault may come.
  Kind kind = Kind::kKill;
  std::string target;  // "worker 3", "server", "evaluator", "machine".
  Duration lasts{};    // A killed process is started again after this long.
  // delay: seconds; slow: share of the time that it is stopped; corrupt: chunks with a flipped bit;
  // half-open: 0 both ways, 1 from the server, 2 to the server; clock-jump: seconds; ballast: MiB.
  double amount = 0.0;

  bool operator==(const Fault&) const = default;
};

// The job under the faults.
struct Job {
  std::string policy;
  Carrier carrier = Carrier::kSharedMemory;
  std::uint32_t workers = 4;
  std::uint64_t examples = 1024;         // In the data set; also the number of weights.
  std::uint64_t checkpoint_every = 100;  // Updates.
  Duration mini_batch{};                 // What one takes.

  bool operator==(const Job&) const = default;
};

struct Plan {
  std::uint64_t seed = 0;
  Duration length{};  // From the first fault to the last.
  Job job;
  std::vector<Kind> kinds;  // Kinds of faults that may come.
  std::vector<Fault> faults;

  bool operator==(const Plan&) const = default;
};

// What a person asked for; the seed decides the rest.
struct Wishes {
  Duration length = std::chrono::minutes(1);
  std::optional<std::string> policy{};
  std::optional<Carrier> carrier{};
  std::vector<Kind> only{};                          // Empty: a drawn subset of all.
  std::vector<Kind> without{};                       // Kinds that this machine cannot inject.
  Duration every = std::chrono::milliseconds(2200);  // Mean time from one fault to the next.
};

// REQUIRES: wishes.length > 0.
[[nodiscard]] Plan draw_plan(std::uint64_t seed, const Wishes& wishes);

// One fault, for people: "12.3 s  half-open    worker 2 for 3.1 s (to the server)".
[[nodiscard]] std::string to_words(const Fault& fault);
// The whole plan as text, a line for each fault; equal plans have equal texts.
[[nodiscard]] std::string to_words(const Plan& plan);

}  // namespace outpace::chaos
