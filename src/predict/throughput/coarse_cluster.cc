#include "throughput/coarse_cluster.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace outpace::throughput {
namespace {

double link_seconds(const MeasuredProfile& profile, const Wires& wires) {
  return wires.bytes_per_second > 0.0
             ? profile.payload_bytes() / (kPayloadOfLink * wires.bytes_per_second)
             : 0.0;
}

}  // namespace

std::string_view name(Topology topology) {
  switch (topology) {
    case Topology::kServer:
      return "ps";
    case Topology::kRing:
      return "ring";
    case Topology::kGossip:
      return "gossip";
  }
  return "";
}

std::string_view name(Bottleneck bottleneck, Topology topology) {
  switch (bottleneck) {
    case Bottleneck::kComputing:
      return "worker compute";
    case Bottleneck::kLink:
      return topology == Topology::kServer ? "server link" : "link";
    case Bottleneck::kApply:
      return "server apply";
    case Bottleneck::kStragglers:
      return "straggler wait";
    case Bottleneck::kNotModelled:
      return "not modelled";
  }
  return "";
}

double copying_seconds(const MeasuredProfile& profile,
                       const Wires& wires,
                       const PackingCosts& packing) {
  constexpr double kHalf = 0.5;
  const double alone = profile.payload_bytes() * profile.byte_seconds;
  const double share = kHalf * (packing.gradient_share + packing.weights_share);
  return std::max(0.0, share * (alone - link_seconds(profile, wires)));
}

ServedCluster served_costs(const MeasuredProfile& profile,
                           const Wires& wires,
                           std::uint32_t shards,
                           const PackingCosts& packing) {
  const double copying = copying_seconds(profile, wires, packing);
  const double link = link_seconds(profile, wires);
  return {.fixed_seconds = 2.0 * (profile.message_seconds + wires.latency_seconds) + copying +
                           packing.worker_seconds,
          .link_seconds = link / shards,
          .own_link_seconds = link,
          .apply_seconds = (profile.apply_seconds + copying + packing.server_seconds()) / shards,
          .latency_seconds = 2.0 * wires.latency_seconds,
          .in_turn = packing.weights_share * profile.payload_bytes() / shards <= wires.window_bytes,
          .gradient_share = packing.gradient_share,
          .weights_share = packing.weights_share};
}

RingCluster ring_costs(const MeasuredProfile& profile,
                       const Wires& wires,
                       std::uint64_t bucket_bytes) {
  const MeasuredProfile::Sums sums =
      profile.sums.value_or(MeasuredProfile::Sums{profile.message_seconds, profile.byte_seconds});
  // A worker without a server reports every gradient to the process that keeps the record.
  return {.fixed_seconds = profile.apply_seconds + profile.message_seconds,
          .latency_seconds = sums.message_seconds + wires.latency_seconds,
          .meeting_message_seconds =
              sums.meeting_message_seconds.value_or(sums.message_seconds) + wires.latency_seconds,
          .payload_seconds =
              std::max(link_seconds(profile, wires), profile.payload_bytes() * sums.byte_seconds),
          .buckets = buckets_of(profile, bucket_bytes)};
}

RingCluster packed(RingCluster cluster,
                   Topology topology,
                   std::uint32_t workers,
                   const Wires& wires,
                   const PackingCosts& packing) {
  if (packing.pack_seconds == 0.0) {
    return cluster;
  }
  cluster.payload_seconds *= packing.gradient_share;
  if (topology == Topology::kRing) {
    const double steps = std::max(1.0, workers - 1.0);
    cluster.latency_seconds += wires.latency_seconds / steps - wires.latency_seconds;
    cluster.fixed_seconds += packing.ring_seconds(workers);
  } else {
    cluster.payload_seconds += packing.meeting_seconds();
  }
  return cluster;
}

double backward_share(const MeasuredProfile& profile) {
  double forward = 0.0;
  double backward = 0.0;
  for (const MeasuredLayer& layer : profile.layers) {
    forward += layer.forward_seconds;
    backward += layer.backward_seconds;
  }
  if (forward + backward <= 0.0 || profile.payload_bytes() <= static_cast<double>(kBucketBytes)) {
    return 0.0;
  }
  // The first gradients are ready when the last layer's backward pass is over.
  return (backward - profile.layers.back().backward_seconds) / (forward + backward);
}

bool is_modelled(const CoarseCluster& cluster) {
  return cluster.topology != Topology::kServer ||
         (is_modelled(cluster.barrier) && !cluster.steps_ahead);
}

namespace {

// In a round all workers get their weights, and push their gradients, together.
Computing shortened(const CoarseCluster& cluster, const Computing& computing) {
  const auto workers = static_cast<double>(computing.front().mean.size());
  const double down = cluster.served.down_seconds();
  const double up = cluster.served.up_seconds();
  if (is_out_of_step(cluster.barrier.kind)) {
    return without_hidden(*cluster.hidden, computing, down, up);
  }
  const double pushes = cluster.barrier.cutoff > 0 ? cluster.barrier.cutoff : workers;
  return without_hidden(
      *cluster.hidden, computing, cluster.served.in_turn ? down : workers * down, pushes * up);
}

}  // namespace

double coarse_rate(const CoarseCluster& cluster,
                   const Computing& computing,
                   Heuristics heuristics) {
  switch (cluster.topology) {
    case Topology::kServer:
      return served_rate(cluster.barrier,
                         cluster.served,
                         cluster.hidden && heuristics == Heuristics::kWith
                             ? shortened(cluster, computing)
                             : computing,
                         heuristics);
    case Topology::kRing:
      return ring_rate(cluster.ring, computing, heuristics);
    case Topology::kGossip:
      return gossip_rate(cluster.ring, computing, cluster.gossip, heuristics);
  }
  return 0.0;
}

Bottleneck find_bottleneck(const CoarseCluster& cluster, const Computing& computing) {
  constexpr double kHalf = 0.5;
  if (!is_modelled(cluster)) {
    return Bottleneck::kNotModelled;
  }
  Bottleneck found = Bottleneck::kComputing;
  double best = coarse_rate(cluster, scaled(computing, kHalf), Heuristics::kWith);
  const auto try_other = [&](Bottleneck other, const CoarseCluster& easier, const Computing& with) {
    const double rate = coarse_rate(easier, with, Heuristics::kWith);
    if (rate > best) {
      best = rate;
      found = other;
    }
  };
  CoarseCluster link = cluster;
  link.served.fixed_seconds -= kHalf * cluster.served.latency_seconds;
  link.served.link_seconds *= kHalf;
  link.served.own_link_seconds *= kHalf;
  link.ring.latency_seconds *= kHalf;
  link.ring.payload_seconds *= kHalf;
  try_other(Bottleneck::kLink, link, computing);
  CoarseCluster apply = cluster;
  apply.served.apply_seconds *= kHalf;
  try_other(Bottleneck::kApply, apply, computing);
  try_other(Bottleneck::kStragglers, cluster, with_deviations(computing, 0.0));
  return found;
}

double profile_uncertainty(const std::vector<double>& seconds) {
  const auto count = static_cast<double>(seconds.size());
  const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / count;
  double squares = 0.0;
  for (const double one : seconds) {
    squares += (one - mean) * (one - mean);
  }
  return count > 1 && mean > 0.0 ? 2.0 * std::sqrt(squares / (count - 1) / count) / mean : 0.0;
}

}  // namespace outpace::throughput
