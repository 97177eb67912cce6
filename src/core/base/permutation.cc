#include "base/permutation.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/rng.h"

namespace outpace {

Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t stream)
    : size_(size), key_(Rng(seed, stream).next()), half_bits_(1) {
  CHECK(size >= 1 && size <= (std::uint64_t{1} << 62U));
  half_bits_ = std::max(1U, (static_cast<unsigned>(std::bit_width(size - 1)) + 1) / 2);
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  CHECK(position < size_);
  do {
    position = encrypt(position);
  } while (position >= size_);
  return position;
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  // With 6 rounds, sizes of 5 to 10 show a bias of some percent; with 10, chi-squared over 200,000
  // permutations of up to 33 sees none.
  constexpr std::uint64_t kRounds = 10;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed = mix(key_ + round * 0x9e3779b97f4a7c15U + right);
    const std::uint64_t swapped = left ^ (mixed & mask);
    left = right;
    right = swapped;
  }
  return (left << half_bits_) | right;
}

}  // namespace outpace
