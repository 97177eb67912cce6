// Chooses the neighbour that a worker of a gossip averages with next.
//
// The workers form two sides. Workers of even rank ask, those of odd rank answer, and only pairs
// across the sides meet. A worker that answers never waits for another, so waiting workers cannot
// form a cycle: no draw leads to a deadlock. Lian, Zhang, Zhang, Liu, "Asynchronous Decentralized
// Parallel Stochastic Gradient Descent" (AD-PSGD), ICML 2018, section 3, "deadlock": a bipartite
// graph. Here the graph is complete and all neighbours are equally likely.

#pragma once

#include <cstdint>

#include "base/rng.h"

namespace outpace::collective {

enum class Side : std::uint8_t { kAsks, kAnswers };

[[nodiscard]] constexpr Side side_of(std::uint32_t rank) {
  return rank % 2 == 0 ? Side::kAsks : Side::kAnswers;
}

// The random neighbours of one asking worker.
class Neighbours {
 public:
  // REQUIRES: size >= 2, and rank asks.
  Neighbours(std::uint32_t rank, std::uint32_t size, std::uint64_t seed);

  // The rank of an answering worker.
  [[nodiscard]] std::uint32_t next();

 private:
  std::uint32_t answering_;  // Number of answering workers: ranks 1, 3, 5, ...
  Rng rng_;
};

}  // namespace outpace::collective
