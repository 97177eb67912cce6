// What `outpace predict` and `outpace plan` are told of the cluster that they model from a measured
// profile: its links, and how fast its workers are.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spec.h"
#include "base/time.h"
#include "job/count_list.h"
#include "job/gossip_options.h"
#include "job/option_list.h"
#include "job/quantities.h"
#include "job/work.h"

namespace outpace::job {

inline constexpr std::uint32_t kModelledWorkersMost = 10'000;
inline constexpr std::uint32_t kModelledShardsMost = 256;

// How gradients and weights are packed, as in train.
struct ModelledPacking {
  Spec gradients = Spec::parse("none");
  Spec weights = Spec::parse("none");
  std::optional<double> rate;  // GB of float32 a second; nothing: as measured for each format.

  [[nodiscard]] bool any() const { return gradients.text != "none" || weights.text != "none"; }
};

struct ModelledCluster {
  std::optional<CountList> local_steps;  // Mini-batches; nothing: a push for each.
  bool steps_ahead = false;              // While a push and the next weights travel.
  std::optional<Bandwidth> bandwidth;    // Nothing: links cost no time.
  Duration latency{};
  SliceSize slice;                   // As of train; 0: transfers do not overlap with computing.
  std::uint32_t bucket_kib = 1024;   // For a ring.
  GossipOptions gossip;              // But for its elasticity.
  std::optional<Bytes> send_window;  // Nothing: weights for several workers go out together.
  ModelledPacking packing;           // Its weights: with a server.
  std::string runtime;               // Empty: the profile's computing.
  Delays delays;
  std::uint32_t cores = 0;
  bool plain = false;            // Coarse without heuristics.
  std::uint32_t iterations = 0;  // For each worker; 0: as many as it takes.
  std::uint64_t seed = 1;
};
void declare(OptionList& options, ModelledCluster& cluster);

// The names of its options: a calibrated profile has none of them.
[[nodiscard]] const std::vector<std::string>& modelled_cluster_options();

// Throws a usage error for options that do not go together, or not with `topologies`; none: ps.
void check(const ModelledCluster& cluster, const std::vector<std::string>& topologies);

// After the options are set: completes the options of a gossip, as fit_gossip() does. Throws a
// usage error as that does, and for an option of a gossip if no gossip is among `topologies`.
void fit_gossip(const OptionList& options,
                const std::vector<std::string>& topologies,
                ModelledCluster& cluster);

}  // namespace outpace::job
