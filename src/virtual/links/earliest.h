// Keeps a time for each of a fixed number of things and finds the earliest: a tournament tree.
//
// set() takes at most log2(size) comparisons, and usually fewer. Infinity means no time.

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
  // kNever if there is none.
  [[nodiscard]] double first() const { return times_[1]; }
  // Appends everything whose time is `until` or earlier, in ascending order of index.
  void collect(double until, std::vector<std::uint32_t>& out) const;

 private:
  void collect_below(std::size_t node, double until, std::vector<std::uint32_t>& out) const;

  std::size_t leaves_;         // A power of two.
  std::vector<double> times_;  // Node n has the earlier of nodes 2n and 2n + 1; the root is 1.
};

}  // namespace outpace::links
