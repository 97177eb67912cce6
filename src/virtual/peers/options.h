// A job without a server that is simulated, and what came of it. Values.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "peer/averaging.h"
#include "peer/batch_plan.h"
#include "sim/faults.h"
#include "worker/neighbour.h"

namespace outpace::peers {

inline constexpr std::uint64_t kEvaluateEvery = 5120;  // Examples of a ring.

enum class Kind : std::uint8_t { kRing, kGossip };

struct Options {
  Kind kind = Kind::kRing;
  // A gossip uses the numbers of workers, batch and examples, and the limits.
  peer::BatchPlanOptions batches;
  Duration seconds{};  // A limit, too; 0: none.
  peer::Averaging averaging = peer::Averaging::kCoupled;
  worker::Graph graph = worker::Graph::kBipartite;
  std::uint32_t average_every = 1;
  std::uint32_t min_workers = 2;  // With fewer the run ends; with one it ends in any case.
  std::uint64_t seed = 1;
  Duration latency{};   // Every message's.
  Duration transfer{};  // For all weights over a link, in addition.
  Duration heartbeat_timeout = std::chrono::seconds(5);
  std::vector<sim::Fault> faults;  // Those that check() allows.
};

// Throws a usage error that says which faults a run without a server can have.
void check_faults(const std::vector<sim::Fault>& faults);

// What the workers, or the host, decided (peer/journal.h); may be null.
using Decided = std::function<void(Time,
                                   std::optional<WorkerId>,  // Nothing: the host.
                                   const std::string& event,
                                   const std::string& decided)>;

// Told of each event and decision in words; may be null.
using Told = std::function<void(Time, const std::string&)>;

struct Counts {
  std::uint64_t crashed = 0;      // Workers.
  std::uint64_t silenced = 0;     // Workers that stood still, and were counted as lost.
  std::uint64_t connections = 0;  // Closed, although nobody was gone.
  std::uint64_t delayed = 0;      // Messages.
  std::uint64_t caught_up = 0;    // Workers of a ring that got an update from another.
  std::uint64_t broken_sums = 0;
};

struct WorkerCounts {
  bool lost = false;
  std::uint64_t gradients = 0;  // Applied; of a ring, computed.
  std::uint64_t meetings = 0;   // That it began, and that are over.
  Duration waited{};            // With a gradient that was ready.
};

struct Result {
  ExitCode code = ExitCode::kDone;
  std::string why;
  Time ended{};
  std::uint64_t updates = 0;  // In a gossip: gradients.
  std::uint64_t gradients = 0;
  std::uint64_t examples = 0;
  std::uint32_t groups = 0;  // That were formed.
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  // All events': the same for the same options.
  Counts counts;
  std::vector<WorkerCounts> workers;
};

}  // namespace outpace::peers
