// A cluster as the coarse models see it: topology, barrier, and the costs of a measured profile.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "throughput/barrier.h"
#include "throughput/coarse.h"
#include "throughput/computing.h"
#include "throughput/hidden_transfers.h"
#include "throughput/measured_profile.h"
#include "throughput/packing_costs.h"
#include "worker/topology.h"

namespace outpace::throughput {

using worker::Topology;  // "ps", "ring", "gossip".
[[nodiscard]] std::string_view name(Topology topology);

// The network between the hosts.
struct Wires {
  double bytes_per_second = 0.0;  // A host's link, each way; 0: unlimited.
  double latency_seconds = 0.0;   // For a message.
  double window_bytes = 0.0;      // As sim::Transfers::Options::window.
};

// Share of a link's traffic that is payload: 1,448 bytes of each Ethernet frame of 1,514, with TCP
// timestamps (RFC 7323).
inline constexpr double kPayloadOfLink = 1448.0 / 1514.0;

// Seconds for serialising and copying a payload, beyond its time on the link. Both happen piece by
// piece, so copying overlaps with sending. The mean of a gradient's and the weights'.
[[nodiscard]] double copying_seconds(const MeasuredProfile& profile,
                                     const Wires& wires,
                                     const PackingCosts& packing = {});

// The costs of an iteration besides computing, as defined in coarse.h. copying_seconds() counts
// twice: once for the worker, in its own time, and once for the server, one gradient after another.
// Weights that fit into the window go out one after another. Packing counts like copying.
[[nodiscard]] ServedCluster served_costs(const MeasuredProfile& profile,
                                         const Wires& wires,
                                         std::uint32_t shards,
                                         const PackingCosts& packing = {});
inline constexpr std::uint64_t kBucketBytes = std::uint64_t{1} << 20U;  // By default.
[[nodiscard]] RingCluster ring_costs(const MeasuredProfile& profile,
                                     const Wires& wires,
                                     std::uint64_t bucket_bytes = kBucketBytes);
// The same for workers that pack what they send each other: fewer bytes, and the time to pack. In a
// ring all send to all, in two rounds of the links' latency; a message still costs what it does.
[[nodiscard]] RingCluster packed(RingCluster cluster,
                                 Topology topology,
                                 std::uint32_t workers,
                                 const Wires& wires,
                                 const PackingCosts& packing);
// The share of computing that comes after the first gradients are ready; 0 if a gradient has at
// most one bucket of the default size, which goes out in one piece after the backward pass.
[[nodiscard]] double backward_share(const MeasuredProfile& profile);

// What limits throughput: the change that would help most. The changes are halving computing, the
// link (its latency and its bytes) or applying, and making all workers equally fast.
enum class Bottleneck : std::uint8_t { kComputing, kLink, kApply, kStragglers, kNotModelled };
// "worker compute", "server link", "server apply", "straggler wait", "not modelled"; without a
// server the link is called "link".
[[nodiscard]] std::string_view name(Bottleneck bottleneck, Topology topology);

struct CoarseCluster {
  Topology topology;
  Barrier barrier;  // Unused without a server.
  ServedCluster served;
  RingCluster ring;
  Gossiping gossip = {};
  std::optional<HiddenTransfers> hidden = {};  // With a server; nothing: none.
  bool steps_ahead = false;                    // The model knows no transfers that these hide.
};
// Whether the coarse model knows the cluster: its barrier, if it has a server, and its steps.
[[nodiscard]] bool is_modelled(const CoarseCluster& cluster);
// Gradients per second by the coarse model. With heuristics, computing is shortened by what hides.
// REQUIRES: the cluster is modelled.
[[nodiscard]] double coarse_rate(const CoarseCluster& cluster,
                                 const Computing& computing,
                                 Heuristics heuristics);
[[nodiscard]] Bottleneck find_bottleneck(const CoarseCluster& cluster, const Computing& computing);

// Twice the standard error of the mean of the measured seconds, relative to the mean: how wrong a
// prediction may be because the profile is short.
[[nodiscard]] double profile_uncertainty(const std::vector<double>& seconds);

}  // namespace outpace::throughput
