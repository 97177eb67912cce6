// What packing costs a modelled cluster, and what it saves: bytes on the way, and time to pack and
// unpack.
//
// With R the GB of float32 that a core packs, or unpacks, in a second, and S the payload as
// float32:
//
//   a worker, each iteration      S / R(pack gradient) + S / R(unpack weights)
//   the server, each gradient     S / R(unpack gradient) + S / R(pack weights)
//
// Workers that have had the same releases share what is packed for them, as in rounds. A delta is
// taken to have all numbers of the weights: how many change is not known without learning.

#pragma once

#include <cstdint>
#include <string>

#include "job/modelled_cluster.h"

namespace outpace::throughput {

struct PackingCosts {
  // Bytes, as shares of those of float32.
  double gradient_share = 1.0;
  double weights_share = 1.0;
  double worker_seconds = 0.0;
  double gradient_seconds = 0.0;  // The server's, to unpack a gradient,
  double weights_seconds = 0.0;   // and to pack weights.
  bool all_change = false;        // The weights' share is of a delta with every number.

  [[nodiscard]] double server_seconds() const { return gradient_seconds + weights_seconds; }
  // If that many workers share what is packed for them.
  [[nodiscard]] PackingCosts shared_by(std::uint32_t workers) const;
  // In words; empty if nothing is packed.
  [[nodiscard]] std::string words() const;
};

// `payload`: bytes of a gradient as float32.
[[nodiscard]] PackingCosts packing_costs(const job::ModelledPacking& packing, double payload);

}  // namespace outpace::throughput
