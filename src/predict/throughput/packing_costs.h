// What packing costs a modelled cluster, and what it saves: bytes on the way, and time to pack and
// unpack.
//
// With R the GB of float32 that a core packs, or unpacks, in a second, and S the payload as
// float32:
//
//   a worker, each iteration      S / R(pack gradient) + S / R(unpack weights)
//   the server, each gradient     S / R(unpack gradient) + S / R(pack weights)
//
//   a worker of W in a ring       S / R(pack gradient) + (2 - 1 / W) S / R(unpack gradient): it packs
//                                 terms for others and one part of the sum, and unpacks their terms
//                                 of its part, and the whole sum
//   two workers that meet         S / R(pack gradient) + 2 S / R(unpack gradient), both at once:
//                                 their own packed weights too
//
// Workers that have had the same releases share what is packed for them, as in rounds. A delta is
// taken to have all numbers of the weights: how many change is not known without learning.

#pragma once

#include <cstdint>
#include <string>

#include "job/modelled_cluster.h"
#include "throughput/packing_rates.h"

namespace outpace::throughput {

struct PackingCosts {
  // Bytes, as shares of those of float32.
  double gradient_share = 1.0;
  double weights_share = 1.0;
  double worker_seconds = 0.0;
  double gradient_seconds = 0.0;  // The server's, to unpack a gradient,
  double weights_seconds = 0.0;   // and to pack weights.
  bool all_change = false;        // The weights' share is of a delta with every number.
  double pack_seconds = 0.0;      // A worker's, for what it packs of its own.

  [[nodiscard]] double server_seconds() const { return gradient_seconds + weights_seconds; }
  // A worker's in an update of a ring, and in a transfer of a gossip.
  [[nodiscard]] double ring_seconds(std::uint32_t workers) const;
  [[nodiscard]] double meeting_seconds() const { return pack_seconds + 2.0 * gradient_seconds; }
  // If that many workers share what is packed for them.
  [[nodiscard]] PackingCosts shared_by(std::uint32_t workers) const;
  // In words; empty if nothing is packed. Without a server: of what workers send each other.
  [[nodiscard]] std::string words(bool server = true) const;
};

// `payload`: bytes of a gradient as float32. The rates are those that the user gives, or else
// `measured`.
[[nodiscard]] PackingCosts packing_costs(const job::ModelledPacking& packing,
                                         double payload,
                                         const PackingRates& measured = {});

}  // namespace outpace::throughput
