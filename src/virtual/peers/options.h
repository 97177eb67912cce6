// A job without a server that is simulated. A value.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace outpace::peers
