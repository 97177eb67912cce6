// A time for each of a fixed number of things, and always the earliest of them: a tournament tree.
//
// set() costs log2(size) comparisons at most, and mostly fewer. No time is infinity.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace outpace::links {

class Earliest {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  explicit Earliest(std::size_t size);

  void set(std::size_t index, double time);
  // Never if there is nothing.
  [[nodiscard]] double first() const { return times_[1]; }
  // Appends all whose time is `until` or earlier, in ascending order of index.
  void collect(double until, std::vector<std::uint32_t>& out) const;

 private:
  void collect_below(std::size_t node, double until, std::vector<std::uint32_t>& out) const;

  std::size_t leaves_;         // A power of two.
  std::vector<double> times_;  // Node n has the earlier of nodes 2n and 2n + 1; the root is 1.
};

}  // namespace outpace::links
