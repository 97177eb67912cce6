#include "base/square_sum.h"

#include <algorithm>

namespace outpace {
namespace {

constexpr std::size_t kLanes = 8;
using Sums = std::array<double, kLanes>;

// Numbers that stay in a processor's nearest cache between a copy and its sum.
constexpr std::size_t kBlock = 2048;

// REQUIRES: size is a multiple of kLanes.
[[gnu::always_inline]] inline void add_lanes(const float* numbers, std::size_t size, Sums& sums) {
  Sums local = sums;
  for (std::size_t i = 0; i < size; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(numbers[i + lane]);
      local[lane] += value * value;
    }
  }
  sums = local;
}

void add_plain(const float* numbers, std::size_t size, Sums& sums) {
  add_lanes(numbers, size, sums);
}

#if defined(__x86_64__)
// The same operations in the same order, four at a time; no fused multiply-add.
[[gnu::target("avx2")]] void add_wide(const float* numbers, std::size_t size, Sums& sums) {
  add_lanes(numbers, size, sums);
}
const auto kAddWhole = __builtin_cpu_supports("avx2") != 0 ? add_wide : add_plain;
#else
constexpr auto kAddWhole = add_plain;
#endif

}  // namespace

void SquareSum::add(std::span<const float> numbers) {
  const auto one = [this](float number) {
    const auto value = static_cast<double>(number);
    sums_[next_] += value * value;
    next_ = (next_ + 1) % kLanes;
  };
  std::size_t i = 0;
  for (; i < numbers.size() && next_ != 0; ++i) {
    one(numbers[i]);
  }
  const std::size_t whole = (numbers.size() - i) / kLanes * kLanes;
  kAddWhole(numbers.data() + i, whole, sums_);
  for (i += whole; i < numbers.size(); ++i) {
    one(numbers[i]);
  }
}

double SquareSum::total() const {
  return ((sums_[0] + sums_[4]) + (sums_[1] + sums_[5])) +
         ((sums_[2] + sums_[6]) + (sums_[3] + sums_[7]));
}

SummedCopy copy_and_sum(std::span<const float> numbers) {
  SummedCopy copy{};
  copy.numbers.reserve(numbers.size());
  SquareSum sum;
  for (std::size_t begin = 0; begin < numbers.size(); begin += kBlock) {
    const auto block = numbers.subspan(begin, std::min(kBlock, numbers.size() - begin));
    copy.numbers.insert(copy.numbers.end(), block.begin(), block.end());
    sum.add(std::span(copy.numbers).subspan(begin));  // Not the original: it may have changed.
  }
  copy.squares = sum.total();
  return copy;
}

}  // namespace outpace
