#include "collective/neighbour.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace outpace::collective {
namespace {

// Separate from the stream of the examples' order.
constexpr std::uint64_t kNeighbourStream = 0x6e65;

// How far apart two are, the shorter way around the ring.
std::uint32_t distance(std::uint32_t a, std::uint32_t b, std::uint32_t size) {
  const std::uint32_t one_way = a < b ? b - a : a - b;
  return std::min(one_way, size - one_way);
}

// Whether `distance` is 1, 3, 5, 9, 17, ... one way around the ring or the other.
bool exponential(std::uint32_t distance, std::uint32_t size) {
  const auto is_one = [](std::uint32_t apart) {
    const std::uint32_t power = apart - 1;
    return apart == 1 || (power > 1 && (power & (power - 1)) == 0);
  };
  return is_one(distance) || is_one(size - distance);
}

bool joined(std::uint32_t a, std::uint32_t b, std::uint32_t size, Graph graph) {
  switch (graph) {
    case Graph::kComplete:
      return true;
    case Graph::kBipartite:
      return side_of(a) != side_of(b);
    case Graph::kRing:
      return distance(a, b, size) == 1;
    case Graph::kExponential:
      return exponential(distance(a, b, size), size);
  }
  return false;
}

}  // namespace

std::vector<std::uint32_t> neighbours_of(std::uint32_t rank,
                                         std::uint32_t size,
                                         Graph graph,
                                         bool across) {
  CHECK(size >= 2 && rank < size);
  std::vector<std::uint32_t> found;
  for (std::uint32_t other = 0; other < size; ++other) {
    if (other != rank && joined(rank, other, size, graph) &&
        (!across || side_of(other) != side_of(rank))) {
      found.push_back(other);
    }
  }
  return found;
}

Neighbours::Neighbours(std::uint32_t rank, std::vector<std::uint32_t> ranks, std::uint64_t seed)
    : ranks_(std::move(ranks)), rng_(mix(seed ^ kNeighbourStream), rank) {
  CHECK(!ranks_.empty());
}

std::uint32_t Neighbours::next() {
  return ranks_[rng_.below(ranks_.size())];
}

}  // namespace outpace::collective
