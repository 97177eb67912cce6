// A cluster as the coarse models see it: topology, barrier, and the costs of a measured profile.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "throughput/barrier.h"
#include "throughput/coarse.h"
#include "throughput/computing.h"
#include "throughput/measured_profile.h"

namespace outpace::throughput {

enum class Topology : std::uint8_t { kServer, kRing, kGossip };  // "ps", "ring", "gossip".
[[nodiscard]] std::string_view name(Topology topology);

// What is between the hosts.
struct Wires {
  double bytes_per_second = 0.0;  // Of a host's link, each way; 0: never in the way.
  double latency_seconds = 0.0;   // Of a message.
  double window_bytes = 0.0;      // As sim::Transfers::Options::window.
};

// Of what a link carries, what is payload: 1,448 bytes of each Ethernet frame of 1,514, with TCP's
// timestamps (RFC 7323).
inline constexpr double kPayloadOfLink = 1448.0 / 1514.0;

// Serialising and copying a payload, beyond what it is on the link: it is done piece by piece,
// while others are on their way.
[[nodiscard]] double copying_seconds(const MeasuredProfile& profile, const Wires& wires);

// What an iteration costs besides computing, as coarse.h has it. copying_seconds() are once the
// worker's, in its own time, and once the server's, one gradient after another. Weights that fit
// into the window go out in turn.
[[nodiscard]] ServedCluster served_costs(const MeasuredProfile& profile,
                                         const Wires& wires,
                                         std::uint32_t shards);
// A gradient of no more than one bucket (train's --bucket-kib) goes out whole, after the backward
// pass.
inline constexpr double kBucketBytes = 1024.0 * 1024.0;
[[nodiscard]] RingCluster ring_costs(const MeasuredProfile& profile, const Wires& wires);

// Where the time goes: what would help most, if computing, the link (its latency and its bytes) or
// applying took half as long, or if all workers computed equally long.
enum class Bottleneck : std::uint8_t { kComputing, kLink, kApply, kStragglers };
// "worker compute", "server link", "server apply", "straggler wait"; without a server the link is
// called "link".
[[nodiscard]] std::string_view name(Bottleneck bottleneck, Topology topology);

struct CoarseCluster {
  Topology topology;
  Barrier barrier;  // With a server.
  ServedCluster served;
  RingCluster ring;
};
// Gradients a second by the coarse model.
[[nodiscard]] double coarse_rate(const CoarseCluster& cluster,
                                 const Computing& computing,
                                 Heuristics heuristics);
[[nodiscard]] Bottleneck find_bottleneck(const CoarseCluster& cluster, const Computing& computing);

// The standard error of the mean of what was measured, twice, as a part of the mean: how far off a
// prediction may be because the profile is short.
[[nodiscard]] double profile_uncertainty(const std::vector<double>& seconds);

}  // namespace outpace::throughput
