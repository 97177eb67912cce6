// What `outpace predict` and `outpace plan` are told of the cluster that they model from a measured
// profile: its links, and how fast its workers are.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "job/option_list.h"
#include "job/quantities.h"
#include "job/work.h"

namespace outpace::job {

inline constexpr std::uint32_t kModelledWorkersMost = 10'000;
inline constexpr std::uint32_t kModelledShardsMost = 256;

// Of a gossip: each gradient takes one meeting, or none waits for any.
enum class GossipPace : std::uint8_t { kCoupled, kFree };
template <>
struct Choices<GossipPace> {
  static constexpr std::array<std::pair<std::string_view, GossipPace>, 2> kWords{
      {{"coupled", GossipPace::kCoupled}, {"free", GossipPace::kFree}}};
};

struct ModelledCluster {
  std::optional<Bandwidth> bandwidth;  // Nothing: links cost no time.
  Duration latency{};
  SliceSize slice;                  // As of train; 0: transfers do not overlap with computing.
  std::uint32_t bucket_kib = 1024;  // Of a ring.
  GossipPace gossip = GossipPace::kCoupled;
  std::optional<Bytes> send_window;  // Nothing: weights for several workers go out together.
  std::string runtime;               // Empty: the profile's computing.
  Delays delays;
  std::uint32_t cores = 0;
  bool plain = false;            // Coarse without heuristics.
  std::uint32_t iterations = 0;  // Of each worker; 0: as many as it takes.
  std::uint64_t seed = 1;
};
void declare(OptionList& options, ModelledCluster& cluster);

// The names of its options: a calibrated profile has none of them.
[[nodiscard]] const std::vector<std::string>& modelled_cluster_options();

// Throws a usage error for options that do not go together.
void check(const ModelledCluster& cluster);

}  // namespace outpace::job
