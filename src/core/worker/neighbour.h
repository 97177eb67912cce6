// Chooses the neighbour that a worker of a gossip averages with next.
//
// Where two workers move at once (AD-PSGD), they form two sides. Workers of even rank ask, those of
// odd rank answer, and only pairs across the sides meet. A worker that answers never waits for
// another, so waiting workers cannot form a cycle: no draw leads to a deadlock. Lian, Zhang, Zhang,
// Liu, "Asynchronous Decentralized Parallel Stochastic Gradient Descent" (AD-PSGD), ICML 2018,
// section 3, "deadlock": a bipartite graph. Where only one of two moves, there are no sides.
//
// All neighbours of a worker in the graph are equally likely.

#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace outpace::worker {

enum class Side : std::uint8_t { kAsks, kAnswers };

[[nodiscard]] constexpr Side side_of(std::uint32_t rank) {
  return rank % 2 == 0 ? Side::kAsks : Side::kAnswers;
}

// Each is undirected.
enum class Graph : std::uint8_t {
  kComplete,     // Any two workers.
  kBipartite,    // Any two of different sides.
  kRing,         // Two whose ranks are next to each other, and the last with the first.
  kExponential,  // Ranks 1, 3, 5, 9, 17, ... (1 + 2^k) apart, around the ring.
};

// The neighbours' ranks, in order. With `across`, only those of the other side: a ring of an odd
// number of workers then has no edge from the last worker to the first. Never empty, because ranks
// next to each other are neighbours in each graph. REQUIRES: size >= 2 and rank < size.
[[nodiscard]] std::vector<std::uint32_t> neighbours_of(std::uint32_t rank,
                                                       std::uint32_t size,
                                                       Graph graph,
                                                       bool across);

// One of neighbours_of(), all equally likely. It makes no long list, so it suits thousands of
// workers.
[[nodiscard]] std::uint32_t draw_neighbour(
    Rng& rng, std::uint32_t rank, std::uint32_t size, Graph graph, bool across);

// The mean number of neighbours of a worker.
[[nodiscard]] double mean_neighbours(std::uint32_t size, Graph graph, bool across);

// The random neighbours of one worker.
class Neighbours {
 public:
  // REQUIRES: `ranks`, which it draws from, is not empty. `rank`: of the worker itself.
  Neighbours(std::uint32_t rank, std::vector<std::uint32_t> ranks, std::uint64_t seed);

  [[nodiscard]] std::uint32_t next();

 private:
  std::vector<std::uint32_t> ranks_;
  Rng rng_;
};

}  // namespace outpace::worker
