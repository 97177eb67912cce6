// The jobs of virtual time: what `outpace simulate` is told of its cluster and of the links between
// the server and its workers.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spec.h"
#include "base/time.h"
#include "job/live_job.h"
#include "job/option_list.h"
#include "job/quantities.h"
#include "job/simulated_peers.h"
#include "job/training.h"
#include "job/work.h"

namespace outpace::job {

inline constexpr std::uint32_t kSimulatedWorkersMax = 1'000'000;
inline constexpr const char* kRuntimeByDefault = "lognormal(mean=100ms,cv=0.3)";

struct SimulatedCluster {
  std::string runtime;  // Empty: as kRuntimeByDefault, or what --delays says.
  Duration compute{};
  std::uint32_t cores = 0;  // 0: one for each worker.
  Duration latency{};
  Duration apply{};
  bool oracle = false;
  bool steps_ahead = false;
  std::vector<std::string> faults;
};

struct SimulatedLinks {
  std::string platform;                // A platform file of SimGrid; empty: none.
  std::optional<Bandwidth> bandwidth;  // Instead of it, of a regular shape.
  std::optional<Spec> shape;           // Nothing: a star.
  std::optional<Bytes> payload;
  std::uint32_t shards = 1;  // The server's shards.
  std::vector<std::string> server_hosts;
  std::optional<Bytes> send_window;  // Nothing: weights for several workers go out together.

  [[nodiscard]] bool any() const { return !platform.empty() || bandwidth.has_value(); }
};

struct SimulateJob {
  SimulateJob() { training.policy = Spec::parse("async"); }

  Training training;
  Duration heartbeat_timeout = Membership{}.heartbeat_timeout;
  AutoDuration progress_timeout;
  Output output;
  Delays delays;
  std::vector<std::string> attacks;
  SimulatedCluster cluster;
  SimulatedLinks links;
  SimulatedPeers peers;
  std::optional<Spec> learn;  // A network whose gradients are computed; nothing: none are.
  Spec data = Spec::parse("fashion-mnist");
  std::uint64_t examples = 60'000;  // Without learning.
};
void declare(OptionList& options, SimulateJob& job);

// After the options are set. Throws a usage error for options that do not go together.
void check(const SimulateJob& job);

// Least and greatest size of --send-window are the same wherever it is an option.
void declare_send_window(OptionList& options, std::optional<Bytes>& send_window);
// Bytes that go to one worker before the next one's turn; 0: all at the same time.
[[nodiscard]] double window_bytes(const std::optional<Bytes>& send_window);

}  // namespace outpace::job
