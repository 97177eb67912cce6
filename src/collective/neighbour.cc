#include "collective/neighbour.h"

#include "base/check.h"

namespace outpace::collective {
namespace {

// Separate from the stream of the examples' order.
constexpr std::uint64_t kNeighbourStream = 0x6e65;

}  // namespace

Neighbours::Neighbours(std::uint32_t rank, std::uint32_t size, std::uint64_t seed)
    : answering_(size / 2), rng_(mix(seed ^ kNeighbourStream), rank) {
  CHECK(size >= 2 && rank < size && side_of(rank) == Side::kAsks);
}

std::uint32_t Neighbours::next() {
  return 2 * static_cast<std::uint32_t>(rng_.below(answering_)) + 1;
}

}  // namespace outpace::collective
