// A job without a server that is simulated. A value.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "compress/format.h"
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
  Duration transfer{};  // For all weights over a link, as float32, in addition.
  // How a ring's workers send each other gradients, and a gossip's weights.
  compress::Format format{};
  Duration heartbeat_timeout = std::chrono::seconds(5);
  std::vector<sim::Fault> faults;  // Those that check() allows.
};

// Whether what workers send each other is packed.
[[nodiscard]] inline bool packs(const Options& options) {
  return options.format.kind != compress::Kind::kNone;
}
// The transfer of all weights as they travel, if they are many.
[[nodiscard]] inline Duration packed_transfer(const Options& options) {
  constexpr std::size_t kMany = 1U << 24U;
  const double share = static_cast<double>(compress::packed_bytes(options.format, kMany)) /
                       static_cast<double>(sizeof(float) * kMany);
  return std::chrono::duration_cast<Duration>(options.transfer * share);
}

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
