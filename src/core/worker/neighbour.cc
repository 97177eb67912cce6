#include "worker/neighbour.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace outpace::worker {
namespace {

// Separate from the stream of the examples' order.
constexpr std::uint64_t kNeighbourStream = 0x6e65;

// How far apart neighbours are around a ring.
std::vector<std::uint32_t> distances(std::uint32_t size, Graph graph) {
  std::vector<std::uint32_t> apart{1};
  for (std::uint64_t power = 2; graph == Graph::kExponential && power + 1 < size; power *= 2) {
    apart.push_back(static_cast<std::uint32_t>(power + 1));
  }
  return apart;
}

std::vector<std::uint32_t> around_ring(std::uint32_t rank, std::uint32_t size, Graph graph) {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t apart : distances(size, graph)) {
    found.push_back((rank + apart) % size);
    found.push_back((rank + size - apart) % size);
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<std::uint32_t> before_sides(std::uint32_t rank, std::uint32_t size, Graph graph) {
  if (graph == Graph::kRing || graph == Graph::kExponential) {
    return around_ring(rank, size, graph);
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t other = 0; other < size; ++other) {
    if (other != rank && (graph == Graph::kComplete || side_of(other) != side_of(rank))) {
      found.push_back(other);
    }
  }
  return found;
}

}  // namespace

std::vector<std::uint32_t> neighbours_of(std::uint32_t rank,
                                         std::uint32_t size,
                                         Graph graph,
                                         bool across) {
  CHECK(size >= 2 && rank < size);
  std::vector<std::uint32_t> found = before_sides(rank, size, graph);
  if (across) {
    std::erase_if(found, [&](std::uint32_t other) { return side_of(other) == side_of(rank); });
  }
  return found;
}

std::uint32_t draw_neighbour(
    Rng& rng, std::uint32_t rank, std::uint32_t size, Graph graph, bool across) {
  const auto below = [&rng](std::uint32_t count) {
    return static_cast<std::uint32_t>(rng.below(count));
  };
  if (graph == Graph::kBipartite || (graph == Graph::kComplete && across)) {
    const std::uint32_t first = side_of(rank) == Side::kAsks ? 1 : 0;
    return first + 2 * below((size - first + 1) / 2);
  }
  if (graph == Graph::kComplete) {
    const std::uint32_t other = below(size - 1);
    return other < rank ? other : other + 1;
  }
  const std::vector<std::uint32_t> all = neighbours_of(rank, size, graph, across);
  return all[below(static_cast<std::uint32_t>(all.size()))];
}

double mean_neighbours(std::uint32_t size, Graph graph, bool across) {
  if (graph == Graph::kComplete && !across) {
    return size - 1.0;
  }
  if (graph == Graph::kComplete || graph == Graph::kBipartite) {  // Each pair counts for both.
    const std::uint32_t answer = size / 2;
    return 2.0 * answer * (size - answer) / size;
  }
  double sum = 0.0;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    sum += static_cast<double>(neighbours_of(rank, size, graph, across).size());
  }
  return sum / size;
}

Neighbours::Neighbours(std::uint32_t rank, std::vector<std::uint32_t> ranks, std::uint64_t seed)
    : ranks_(std::move(ranks)), rng_(mix(seed ^ kNeighbourStream), rank) {
  CHECK(!ranks_.empty());
}

std::uint32_t Neighbours::next() {
  return ranks_[rng_.below(ranks_.size())];
}

}  // namespace outpace::worker
