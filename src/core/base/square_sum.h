// The sum of squares of float32 numbers, in double, the same to the bit on every machine and
// however the numbers are divided: eight independent sums, one for each place modulo eight, which
// are combined in one order. It is finite exactly if every number is: the largest float32 squared
// is about 1e77, so a sum over finite numbers cannot overflow.

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace outpace {

class SquareSum {
 public:
  // The numbers that come next.
  void add(std::span<const float> numbers);
  [[nodiscard]] double total() const;

 private:
  std::array<double, 8> sums_{};
  std::size_t next_ = 0;  // The sum to which the next number belongs.
};

// A copy of the numbers, and their sum of squares, in one pass over memory. Each number is read
// once, and the copy is what was summed, even if somebody changes the numbers meanwhile.
struct SummedCopy {
  std::vector<float> numbers;
  double squares;
};
[[nodiscard]] SummedCopy copy_and_sum(std::span<const float> numbers);

}  // namespace outpace
