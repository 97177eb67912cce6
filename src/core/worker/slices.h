// Which numbers of a gradient can be sent while the backward pass computes the rest.
//
// A backward pass yields the gradients of the last layers first. A slice is a run of final numbers
// with at least a given size; the first one is the end of the gradient, and each one ends where the
// one before began. The front, which the pass yields last, goes with the push. Pure.

#pragma once

#include <cstddef>
#include <map>
#include <optional>

namespace outpace::worker {

// Numbers [begin, end) of the flat gradient.
struct Slice {
  std::size_t begin;
  std::size_t end;

  bool operator==(const Slice&) const = default;
};

class Slices {
 public:
  // For gradients of `numbers` numbers; a slice has at least `least`. 0: nothing is sliced.
  Slices(std::size_t numbers, std::size_t least)
      : numbers_(numbers), least_(least), final_from_(numbers), unsent_(numbers) {}

  // A new gradient begins.
  void restart();
  // Numbers [begin, end) will not change any more. Returns the slice that can be sent now, if there
  // is one. Throws a usage error if they are not numbers of the gradient, or were final before.
  [[nodiscard]] std::optional<Slice> add(std::size_t begin, std::size_t end);
  // The numbers in front that no slice has brought: all of them if nothing was sliced.
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  [[nodiscard]] bool begun() const { return unsent_ < numbers_; }

 private:
  // Constant after construction.
  std::size_t numbers_;
  std::size_t least_;
  // State.
  std::size_t final_from_;  // All numbers from here on are final.
  std::size_t unsent_;
  std::map<std::size_t, std::size_t> early_;  // Final ones in front of others that are not.
};

}  // namespace outpace::worker
